#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headrace::client {

// Counts how often each key came in an iteration. A key's first occurrence costs one bit, so an
// epoch over a million rows costs 160 kB. Thread-compatible.
class Occurrences {
 public:
  // Returns how often `key` came before, and counts this occurrence.
  std::uint64_t Count(std::int64_t key) {
    if (key >= 0 && key < kMaxBit) {
      const auto word = static_cast<std::size_t>(key / 64);
      const std::uint64_t bit = std::uint64_t{1} << (key % 64);
      if (word >= seen_.size()) seen_.resize(word + word / 2 + 16);
      if ((seen_[word] & bit) == 0) {
        seen_[word] |= bit;
        return 0;
      }
      return ++repeats_[key];
    }
    return repeats_[key]++;
  }
  void Clear() {
    seen_.assign(seen_.size(), 0);
    repeats_.clear();
  }

 private:
  static constexpr std::int64_t kMaxBit = std::int64_t{1} << 33;  // 1 GiB of bits

  std::vector<std::uint64_t> seen_;
  std::unordered_map<std::int64_t, std::uint64_t> repeats_;
};

}  // namespace headrace::client
