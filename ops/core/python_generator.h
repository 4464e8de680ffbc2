#pragma once

#include <cstdint>
#include <span>

#include "ops/core/kept_twister.h"

namespace headrace::ops {

// Python's random.Random: MT19937 with the draws of random(), uniform, randrange, choice, choices,
// shuffle and gauss, bit for bit. Source: CPython 3.10 to 3.14, Lib/random.py and
// Modules/_randommodule.c. Its state is that of random.getstate(), as bytes. Value type;
// thread-compatible.
class PythonGenerator : public KeptTwister {
 public:
  // As random.seed(seed).
  explicit PythonGenerator(std::uint64_t seed = 0);

  // random.uniform(low, high), with its roundings.
  double Uniform(double low, double high);
  // Random._randbelow(n): in [0, n). Takes outputs until one is below n. REQUIRES: 1 <= n.
  std::uint32_t Below(std::uint32_t n);
  // random.shuffle(out).
  void Shuffle(std::span<std::int64_t> out);
  // The index of random.choices(population, cum_weights=cumulative)[0], where the weights add up to
  // `cumulative`. REQUIRES: they are not empty.
  std::size_t Choose(std::span<const double> cumulative);

  // Makes a generator with that seed, at that position. O(position).
  static PythonGenerator At(std::uint64_t seed, std::uint64_t position);
};

}  // namespace headrace::ops
