#include <memory>

#include "eviction/core/recency_frequency.h"

namespace headrace::eviction {

void RegisterEvictionLrfu(OrderRegistry& registry) {
  registry.Add({.name = "lrfu",
                .summary = "what was used seldom and long ago goes first",
                .make = [](std::uint64_t) { return std::make_unique<RecencyFrequency>(false); }});
}

}  // namespace headrace::eviction
