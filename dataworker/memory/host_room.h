#pragma once

#include <algorithm>
#include <cstdint>

namespace headrace::dataworker {

// What a host keeps free of caches: an eighth of `allowed`, all that the process may use. A program may
// take so much in one period before the caches hear of it.
[[nodiscard]] constexpr std::uint64_t HostReserve(std::uint64_t allowed) { return allowed / 8; }

// Most bytes that a cache of `has` bytes may have, so that `reserve` bytes of the host stay free when
// `available` can be had now. Caches of several workers each see all that is missing, and each gives way:
// the host recovers at once, and they grow again by what is free.
[[nodiscard]] constexpr std::uint64_t MostForCache(std::uint64_t has, std::uint64_t available,
                                                   std::uint64_t reserve) {
  if (available >= reserve) return has + std::min(available - reserve, UINT64_MAX - has);
  return has - std::min(has, reserve - available);
}

}  // namespace headrace::dataworker
