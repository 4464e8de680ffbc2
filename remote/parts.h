#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace::remote {

// Bytes [first, first + size) of an object.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Divides [from, size) of an object into parts of at most `part_bytes`, as even as may be, so that the
// last one is not read for long after the others. Pure. REQUIRES: part_bytes > 0.
[[nodiscard]] inline std::vector<ByteRange> DivideIntoParts(std::uint64_t from, std::uint64_t size,
                                                            std::uint64_t part_bytes) {
  std::vector<ByteRange> parts;
  if (from >= size) return parts;
  const std::uint64_t rest = size - from;
  const std::uint64_t count = rest / part_bytes + (rest % part_bytes != 0 ? 1 : 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t each = rest / count + (i < rest % count ? 1 : 0);
    parts.push_back({from, each});
    from += each;
  }
  return parts;
}

}  // namespace headrace::remote
