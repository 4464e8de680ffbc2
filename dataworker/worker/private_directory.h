#pragma once

#include <string>

#include "base/result.h"

namespace headrace::dataworker {

// Returns the directory of a worker's sockets and locks, and makes it when it is missing: `given`,
// or $XDG_RUNTIME_DIR/headrace, or /tmp/headrace-<uid>. kInvalidArgument: others can use it.
[[nodiscard]] Result<std::string> PrivateDirectory(const std::string& given);

}  // namespace headrace::dataworker
