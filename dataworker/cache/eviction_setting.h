#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/settings.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

// The setting `eviction` of tiers that are made of chunks: in which order those of ended jobs give way.
[[nodiscard]] Setting EvictionSetting();
// The order that the setting names, for a tier of `budget` bytes. kNotFound: there is none of that
// name (the message lists them).
[[nodiscard]] Result<std::unique_ptr<eviction::EvictionOrder>> OrderOf(const Settings& settings,
                                                                       std::uint64_t budget);
[[nodiscard]] std::unique_ptr<eviction::EvictionOrder> DefaultOrder(std::uint64_t budget);

}  // namespace headrace::dataworker
