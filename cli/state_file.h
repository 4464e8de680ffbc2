#pragma once

#include <string>

#include "base/result.h"
#include "simulate/what_if/live_state.h"

namespace headrace::cli {

// The state in a file; "-": on standard input. Errors as ReadLiveState, and kNotFound.
[[nodiscard]] Result<simulate::LiveState> ReadStateFile(const std::string& path);

}  // namespace headrace::cli
