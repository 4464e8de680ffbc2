#pragma once

#include <cstdint>
#include <memory>

#include "dataworker/cache/cache_tier.h"

namespace headrace::dataworker {

// The memory tier: at most `budget_bytes` of memory, index included, for all jobs of the worker.
[[nodiscard]] std::unique_ptr<CacheTier> MakeMemoryCache(std::uint64_t budget_bytes);

}  // namespace headrace::dataworker
