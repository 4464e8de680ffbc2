#include "ops/core/python_generator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace headrace::ops {
namespace {

constexpr int kBits = 32;

// The words of a non-negative int, the least first, as random.seed gives them to init_by_array.
Mt19937 Seeded(std::uint64_t seed) {
  const std::uint32_t key[] = {static_cast<std::uint32_t>(seed),
                               static_cast<std::uint32_t>(seed >> kBits)};
  return Mt19937(std::span(key).first(key[1] == 0 ? 1 : 2));
}

}  // namespace

PythonGenerator::PythonGenerator(std::uint64_t seed) : KeptTwister(Seeded(seed)) {}

double PythonGenerator::Uniform(double low, double high) {
  const double part = (high - low) * Random();  // no fused operation in CPython's bytecode
  return low + part;
}

std::uint32_t PythonGenerator::Below(std::uint32_t n) {
  HR_CHECK(n >= 1);
  const int bits = std::bit_width(n);  // not of n - 1
  std::uint32_t drawn = 0;
  do {
    drawn = Next() >> (kBits - bits);
  } while (drawn >= n);
  return drawn;
}

void PythonGenerator::Shuffle(std::span<std::int64_t> out) {
  for (std::size_t i = out.size(); i-- > 1;) {
    std::swap(out[i], out[Below(static_cast<std::uint32_t>(i + 1))]);
  }
}

std::size_t PythonGenerator::Choose(std::span<const double> cumulative) {
  const double drawn = Random() * cumulative.back();
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end() - 1, drawn);
  return static_cast<std::size_t>(at - cumulative.begin());
}

PythonGenerator PythonGenerator::At(std::uint64_t seed, std::uint64_t position) {
  PythonGenerator generator(seed);
  generator.MoveTo(position);
  return generator;
}

}  // namespace headrace::ops
