#include <memory>

#include "eviction/core/recency_frequency.h"

namespace headrace::eviction {

// As DLCache's simulation has it (Kang et al., ISORC 2023): LRFU, and of items with equal sums the
// cheaper one goes first.
void RegisterEvictionCostAwareLrfu(OrderRegistry& registry) {
  registry.Add({.name = "cost_aware_lrfu",
                .summary = "as lrfu, and of equal ones the cheaper (DLCache)",
                .make = [](std::uint64_t) { return std::make_unique<RecencyFrequency>(true); }});
}

}  // namespace headrace::eviction
