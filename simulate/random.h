#pragma once

#include <cmath>
#include <cstdint>

// Random numbers that are the same on every machine and with every standard library.
// Source: Steele et al., SplitMix64 (OOPSLA 2014).
namespace headrace::simulate {

// Thread-compatible; a value.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11U) * 0x1p-53; }
  double Exponential(double mean) { return -mean * std::log1p(-Uniform()); }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log1p(-Uniform()));
    return radius * std::cos(6.283185307179586 * Uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace headrace::simulate
