#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/mt19937.h"

namespace headrace::ops {

// Python's random.Random: MT19937 with the draws of random(), uniform, randrange, choice, choices and
// shuffle, bit for bit. Source: CPython 3.10 to 3.14, Lib/random.py and Modules/_randommodule.c.
// Value type; thread-compatible.
class PythonGenerator {
 public:
  // Bytes of a state: 624 words and the next one's number, each of 4 bytes; whether a number of
  // random.gauss is kept, in 4 bytes; and that number, a double.
  static constexpr std::size_t kStateBytes = (Mt19937::kWords + 2) * 4 + 8;

  // As random.seed(seed).
  explicit PythonGenerator(std::uint64_t seed = 0);

  // random.random(): 53 bits, of two outputs.
  double Random();
  // random.uniform(low, high), with its roundings.
  double Uniform(double low, double high);
  // Random._randbelow(n): in [0, n). Takes outputs until one is below n. REQUIRES: 1 <= n.
  std::uint32_t Below(std::uint32_t n);
  // random.shuffle(out).
  void Shuffle(std::span<std::int64_t> out);
  // The index of random.choices(population, cum_weights=cumulative)[0], where the weights add up to
  // `cumulative`. REQUIRES: they are not empty.
  std::size_t Choose(std::span<const double> cumulative);

  // 32-bit outputs taken since the seed, or since SetState.
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  // False after SetState; draws() then count from there.
  [[nodiscard]] bool resumable() const { return resumable_; }
  // Makes a generator with that seed, after that many outputs. O(draws).
  static PythonGenerator At(std::uint64_t seed, std::uint64_t draws);
  // Skips n outputs.
  void Discard(std::uint64_t n);
  // Outputs that were taken of the present 624.
  [[nodiscard]] std::uint32_t place() const { return engine_.next(); }

  // Converts to random.getstate(), as bytes, and back. kInvalidArgument: not such bytes; the
  // generator then stays unchanged.
  [[nodiscard]] Bytes State() const;
  Status SetState(ByteSpan state);

 private:
  std::uint32_t Next();

  Mt19937 engine_;
  std::uint64_t draws_ = 0;
  bool resumable_ = true;
  std::uint32_t has_gauss_ = 0;  // kept unchanged: no draw here uses it
  double gauss_ = 0;
};

}  // namespace headrace::ops
