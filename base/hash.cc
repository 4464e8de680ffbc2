#include "base/hash.h"

#include <xxhash.h>

namespace headrace {

std::uint64_t HashBytes(ByteSpan bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace headrace
