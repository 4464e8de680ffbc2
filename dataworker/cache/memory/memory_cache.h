#pragma once

#include <cstdint>
#include <memory>

#include "dataworker/cache/cache_tier.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

// The memory tier: at most `budget_bytes` of memory, index included, for all jobs of the worker.
// `order`: in which chunks of ended jobs give way; null: the default one.
[[nodiscard]] std::unique_ptr<CacheTier> MakeMemoryCache(
    std::uint64_t budget_bytes, std::unique_ptr<eviction::EvictionOrder> order = nullptr);

}  // namespace headrace::dataworker
