#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eviction/core/order.h"
#include "simulate/eviction/schedule.h"

namespace headrace::simulate {

// What becomes of an object that the order refuses, while it is used.
enum class Refused {
  kTakesRoom,  // it lies in the cache, as in DLCache: others go if need be, and it goes when the next needs room
  kPasses,  // it needs none, as samples that a Headrace worker makes
};

// Seconds of preparation in one run under one order. Jobs that ask for an object at once share it.
[[nodiscard]] double PreparationSeconds(const ObjectSets& sets, const Schedule& schedule,
                                        std::uint64_t capacity,
                                        const eviction::OrderDescriptor& order, Refused refused);
// The same of the best possible cache: OfflineBound.
[[nodiscard]] double LeastPreparationSeconds(const ObjectSets& sets, const Schedule& schedule,
                                             std::uint64_t capacity);

// All runs of all cells: a table with the columns capacity_gb, reuse, share, window, the orders by name (those that
// refuse: and NAME_passing), and `bound`. `every`: only each n-th run; the others are counted but not made.
[[nodiscard]] std::string EvictionTable(const ObjectSets& sets, int every);

}  // namespace headrace::simulate
