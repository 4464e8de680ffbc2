#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/ids.h"

namespace headrace {

// xxh3-64. Not cryptographic: identifies content between peers that trust each other.
[[nodiscard]] std::uint64_t HashBytes(ByteSpan bytes, std::uint64_t seed = 0);
[[nodiscard]] inline BlobHash HashBlob(ByteSpan bytes) {
  return BlobHash(static_cast<std::int64_t>(HashBytes(bytes) >> 1));
}
// Finaliser of splitmix64: spreads the bits of a counter.
[[nodiscard]] constexpr std::uint64_t MixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace headrace
