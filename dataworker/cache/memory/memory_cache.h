#pragma once

#include <cstdint>
#include <memory>

#include "dataworker/cache/cache.h"

namespace headrace::dataworker {

// The memory tier: at most `budget_bytes` of memory, index included, for all jobs of the worker.
[[nodiscard]] std::unique_ptr<SampleCache> MakeMemoryCache(std::uint64_t budget_bytes);

}  // namespace headrace::dataworker
