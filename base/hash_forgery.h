#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL  // for its secret
#include <xxhash.h>

namespace headrace {

inline std::uint64_t WordAt(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// A text of 241 to 1024 bytes with any given quick hash (HashBytes), for tests that attack with it. Two
// stripes of 64 bytes in it are free in their first two words, which go to two of XXH3's eight sums.
struct ForgedHash {
  std::string text;
  std::size_t first = 0, second = 0;  // stripes whose first two words are free

  static const char* Secret() { return reinterpret_cast<const char*>(XXH3_kSecret); }
  static std::uint64_t Key(std::size_t stripe, std::size_t lane) {
    return WordAt(Secret() + stripe * 8 + lane * 8);
  }
  void Put(std::size_t stripe, std::size_t lane, std::uint64_t word) {
    std::memcpy(text.data() + stripe * 64 + lane * 8, &word, sizeof(word));
  }
  [[nodiscard]] std::array<std::uint64_t, 8> Sums() const {
    std::array<std::uint64_t, 8> sums = {XXH_PRIME32_3, XXH_PRIME64_1, XXH_PRIME64_2,
                                         XXH_PRIME64_3, XXH_PRIME64_4, XXH_PRIME32_2,
                                         XXH_PRIME64_5, XXH_PRIME32_1};
    const auto add = [&](const char* stripe, const char* secret) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const std::uint64_t word = WordAt(stripe + lane * 8);
        const std::uint64_t keyed = word ^ WordAt(secret + lane * 8);
        sums[lane ^ 1] += word;
        sums[lane] += (keyed & 0xffffffff) * (keyed >> 32);
      }
    };
    for (std::size_t n = 0; n < (text.size() - 1) / 64; ++n) add(&text[n * 64], Secret() + n * 8);
    add(&text[text.size() - 64], Secret() + XXH_SECRET_DEFAULT_SIZE - 64 - 7);
    return sums;
  }
  // Has sum 1 - lane grow by `missing`, through this lane. Half of each word is such that what it is
  // multiplied with is 0.
  void Add(std::size_t lane, std::uint64_t missing) {
    const auto low = static_cast<std::uint32_t>(missing - (Key(first, lane) & 0xffffffff));
    const std::uint64_t rest = missing - (Key(first, lane) & 0xffffffff) -
                               (Key(second, lane) & ~std::uint64_t{0xffffffff}) - low;
    Put(first, lane, (rest & ~std::uint64_t{0xffffffff}) | (Key(first, lane) & 0xffffffff));
    Put(second, lane, (Key(second, lane) & ~std::uint64_t{0xffffffff}) | low);
  }
  // Changes the text to one with this hash.
  void To(std::uint64_t hash) {
    hash ^= hash >> 32;  // the end of XXH3, backwards
    std::uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - 0x165667919E3779F9ULL * inverse;
    hash *= inverse;
    hash ^= hash >> 37;
    for (const std::size_t lane : {0U, 1U}) {
      Put(first, lane, Key(first, lane));  // adds itself alone
      Put(second, lane, Key(second, lane));
    }
    std::array<std::uint64_t, 8> sums = Sums();
    for (const std::size_t lane : {0U, 1U}) sums[lane ^ 1] -= Key(first, lane) + Key(second, lane);
    const auto secret = [](std::size_t i) { return WordAt(Secret() + 11 + 8 * i); };
    std::uint64_t others = text.size() * XXH_PRIME64_1;
    for (std::size_t i = 2; i < 8; i += 2) {
      others += XXH3_mul128_fold64(sums[i] ^ secret(i), sums[i + 1] ^ secret(i + 1));
    }
    // The product of the first two is the first, as the second is 1.
    Add(1, ((hash - others) ^ secret(0)) - sums[0]);
    Add(0, (1 ^ secret(1)) - sums[1]);
  }
};

}  // namespace headrace
