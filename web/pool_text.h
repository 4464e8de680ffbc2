#pragma once

#include <string>
#include <vector>

#include "web/page_state.h"

namespace headrace::web {

// The pools of a frame as JSON: all together, and each by itself with what stands in its way. Pure.
[[nodiscard]] std::string PoolText(const PoolState& pool,
                                   const std::vector<wire::PoolStatus>& pools);

}  // namespace headrace::web
