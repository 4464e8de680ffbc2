#include "ops/torch/mt19937.h"

#include <algorithm>

namespace headrace::ops {
namespace {

constexpr std::uint32_t kN = Mt19937::kWords;
constexpr std::uint32_t kM = 397;
constexpr std::uint32_t kUpperMask = 0x80000000U;
constexpr std::uint32_t kLowerMask = 0x7fffffffU;
constexpr std::uint32_t kMatrix = 0x9908b0dfU;
constexpr std::uint32_t kSeedOfArrays = 19650218U;

constexpr std::uint32_t Twist(std::uint32_t upper, std::uint32_t lower, std::uint32_t far) {
  const std::uint32_t y = (upper & kUpperMask) | (lower & kLowerMask);
  return far ^ (y >> 1) ^ ((0U - (y & 1U)) & kMatrix);
}

}  // namespace

Mt19937::Mt19937(std::uint32_t seed) {
  words_[0] = seed;
  for (std::uint32_t i = 1; i < kN; ++i) {
    words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
}

Mt19937::Mt19937(std::span<const std::uint32_t> key) : Mt19937(kSeedOfArrays) {
  const auto length = static_cast<std::uint32_t>(key.size());
  std::uint32_t i = 1, j = 0;
  const auto mixed = [&](std::uint32_t factor) {
    return words_[i] ^ ((words_[i - 1] ^ (words_[i - 1] >> 30)) * factor);
  };
  const auto advance = [&] {
    if (++i < kN) return;
    words_[0] = words_[kN - 1];
    i = 1;
  };
  for (std::uint32_t k = std::max(kN, length); k > 0; --k) {
    words_[i] = mixed(1664525U) + key[j] + j;
    advance();
    if (++j >= length) j = 0;
  }
  for (std::uint32_t k = kN - 1; k > 0; --k) {
    words_[i] = mixed(1566083941U) - i;
    advance();
  }
  words_[0] = 0x80000000U;
}

void Mt19937::Refill() {
  std::uint32_t* s = words_.data();
  for (std::uint32_t i = 0; i < kN - kM; ++i) s[i] = Twist(s[i], s[i + 1], s[i + kM]);
  for (std::uint32_t i = kN - kM; i < kN - 1; ++i) s[i] = Twist(s[i], s[i + 1], s[i + kM - kN]);
  s[kN - 1] = Twist(s[kN - 1], s[0], s[kM - 1]);
  next_ = 0;
}

std::uint32_t Mt19937::Next() {
  if (next_ == kN) Refill();
  std::uint32_t y = words_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

void Mt19937::Discard(std::uint64_t n) {
  while (n > 0) {
    if (next_ == kN) Refill();
    const std::uint64_t step = std::min<std::uint64_t>(n, kN - next_);
    next_ += static_cast<std::uint32_t>(step);
    n -= step;
  }
}

}  // namespace headrace::ops
