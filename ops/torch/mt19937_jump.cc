#include "ops/torch/mt19937_jump.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace headrace::ops {
namespace {

constexpr std::size_t kDegree = 19937;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kWords = kDegree / kWordBits + 1;
using Polynomial = std::array<std::uint64_t, kWords>;  // bit i: the coefficient of x^i

bool Has(const Polynomial& p, std::size_t i) {
  return (p[i / kWordBits] >> (i % kWordBits) & 1U) != 0;
}

// The engine's words from its present block on, and `count` more.
std::vector<std::uint32_t> Sequence(Mt19937 engine, std::size_t count) {
  std::vector<std::uint32_t> words(engine.words().begin(), engine.words().end());
  while (words.size() < Mt19937::kWords + count) {
    engine = Mt19937(engine.words(), Mt19937::kWords);
    engine.Discard(1);  // makes the next block
    words.insert(words.end(), engine.words().begin(), engine.words().end());
  }
  return words;
}

// The characteristic polynomial: that of one bit of the words, by Berlekamp and Massey.
Polynomial FindCharacteristic() {
  const std::vector<std::uint32_t> words = Sequence(Mt19937(1U), 2 * kDegree);
  Polynomial connection{}, before{}, latest{};  // latest: bit i is the i-th last of the sequence
  connection[0] = before[0] = 1;
  std::size_t length = 0, since = 1;
  for (std::size_t k = 0; k < 2 * kDegree; ++k, ++since) {
    for (std::size_t w = kWords - 1; w > 0; --w) {
      latest[w] = latest[w] << 1 | latest[w - 1] >> (kWordBits - 1);
    }
    latest[0] = latest[0] << 1 | (words[Mt19937::kWords + k] & 1U);
    std::uint64_t parity = 0;
    for (std::size_t w = 0; w < kWords; ++w) parity ^= connection[w] & latest[w];
    if (std::popcount(parity) % 2 == 0) continue;
    const Polynomial kept = connection;
    const std::size_t skip = since / kWordBits, shift = since % kWordBits;
    for (std::size_t w = kWords; w-- > skip;) {
      connection[w] ^= before[w - skip] << shift;
      if (shift != 0 && w > skip) connection[w] ^= before[w - skip - 1] >> (kWordBits - shift);
    }
    if (2 * length > k) continue;
    length = k + 1 - length;
    before = kept;
    since = 0;
  }
  HR_CHECK(length == kDegree);
  Polynomial characteristic{};  // the connection polynomial, read backwards
  for (std::size_t i = 0; i <= kDegree; ++i) {
    if (Has(connection, kDegree - i)) {
      characteristic[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
    }
  }
  return characteristic;
}

// Computes modulo the characteristic polynomial.
class Modulus {
 public:
  Modulus() : shifted_(kWordBits) {
    const Polynomial p = FindCharacteristic();
    for (std::size_t shift = 0; shift < kWordBits; ++shift) {
      for (std::size_t w = 0; w < kWords; ++w) {
        shifted_[shift][w] ^= p[w] << shift;
        if (shift != 0) shifted_[shift][w + 1] ^= p[w] >> (kWordBits - shift);
      }
    }
  }

  // x^n.
  [[nodiscard]] Polynomial Power(std::uint64_t n) const {
    Polynomial power{};
    power[0] = 1;
    for (int bit = std::bit_width(n) - 1; bit >= 0; --bit) {
      std::array<std::uint64_t, 2 * kWords + 1> product{};
      const std::uint64_t more = n >> bit & 1U;  // a factor x
      for (std::size_t w = 0; w < kWords; ++w) {
        product[2 * w] = Spread(static_cast<std::uint32_t>(power[w])) << more;
        product[2 * w + 1] = Spread(static_cast<std::uint32_t>(power[w] >> 32)) << more;
      }
      for (std::size_t i = 2 * kDegree; i >= kDegree; --i) {
        if ((product[i / kWordBits] >> (i % kWordBits) & 1U) == 0) continue;
        const std::size_t shift = (i - kDegree) % kWordBits, skip = (i - kDegree) / kWordBits;
        for (std::size_t w = 0; w <= kWords; ++w) product[skip + w] ^= shifted_[shift][w];
      }
      std::copy_n(product.begin(), kWords, power.begin());
    }
    return power;
  }

 private:
  // Puts a zero before each bit: the square of a polynomial.
  static std::uint64_t Spread(std::uint32_t half) {
    std::uint64_t x = half;
    x = (x | x << 16) & 0x0000ffff0000ffffU;
    x = (x | x << 8) & 0x00ff00ff00ff00ffU;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fU;
    x = (x | x << 2) & 0x3333333333333333U;
    return (x | x << 1) & 0x5555555555555555U;
  }

  std::vector<std::array<std::uint64_t, kWords + 1>> shifted_;  // the polynomial, by so many bits
};

}  // namespace

void Jump(Mt19937& engine, std::uint64_t n) {
  const std::uint64_t last = engine.next() + n;
  if (n == 0 || last <= 2 * Mt19937::kWords) return engine.Discard(n);
  // The first block has bits that its successors do not follow from; the next ones have none.
  engine.Discard(Mt19937::kWords - engine.next() + 1);
  const std::uint64_t blocks = (last - 1) / Mt19937::kWords - 1;
  static const Modulus modulus;
  const Polynomial steps = modulus.Power(blocks * Mt19937::kWords);
  const std::vector<std::uint32_t> words = Sequence(engine, kDegree);
  Mt19937::Words made{};
  for (std::size_t i = 0; i < kDegree; ++i) {
    if (!Has(steps, i)) continue;
    for (std::size_t w = 0; w < made.size(); ++w) made[w] ^= words[i + w];
  }
  engine = Mt19937(made, static_cast<std::uint32_t>((last - 1) % Mt19937::kWords) + 1);
}

}  // namespace headrace::ops
