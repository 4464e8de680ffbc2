#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eviction/core/order.h"

namespace headrace::simulate {

// The least cost in seconds of asking for these objects, in this order, that any cache of `capacity` bytes
// can have, even one that knows all that comes, keeps parts of objects, and keeps nothing of an object
// while it is asked for. `objects`: their positions are what `asked` holds.
//
// To keep an object from one request to the next saves its cost, and takes its bytes in between. The
// best choice is a flow of `capacity` bytes along the requests, in which each such interval is an arc
// (Berger et al., Practical Bounds on Optimal Caching with Variable Object Sizes, SIGMETRICS 2018).
// Successive best paths find it; O(paths * n log n) for n requests.
[[nodiscard]] double OfflineBound(std::span<const eviction::Item> objects,
                                  std::span<const std::size_t> asked, std::uint64_t capacity);

}  // namespace headrace::simulate
