#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::ops {

// The Mersenne Twister MT19937, which torch and CPython share: 624 words, and the next one to give.
// Source: aten/src/ATen/core/MT19937RNGEngine.h, Modules/_randommodule.c. Value type;
// thread-compatible.
class Mt19937 {
 public:
  static constexpr std::uint32_t kWords = 624;
  using Words = std::array<std::uint32_t, kWords>;

  // init_genrand: the state that follows one word.
  explicit Mt19937(std::uint32_t seed = 0);
  // init_by_array: the state that follows several. REQUIRES: key is not empty.
  explicit Mt19937(std::span<const std::uint32_t> key);
  // REQUIRES: next <= kWords; kWords: all words are given.
  Mt19937(const Words& words, std::uint32_t next) : words_(words), next_(next) {}

  // One 32-bit output.
  std::uint32_t Next();
  // Skips n outputs. O(n), about 2 ns each.
  void Discard(std::uint64_t n);

  [[nodiscard]] const Words& words() const { return words_; }
  [[nodiscard]] std::uint32_t next() const { return next_; }

 private:
  void Refill();

  Words words_{};
  std::uint32_t next_ = kWords;
};

}  // namespace headrace::ops
