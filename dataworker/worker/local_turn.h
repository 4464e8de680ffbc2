#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {

// Of the local workers (WorkerOptions::local) that one user's programs start on a host for one
// coordinator only one works at a time; the others wait for its end, however it ends.
//
// Blocks until it is the caller's turn, and returns the lock that holds it (a file in `directory`,
// released with the descriptor). Nothing: `stop` or `parent` (-1: none) became readable first.
// Errors: those of the file.
[[nodiscard]] Result<std::optional<UniqueFd>> AwaitLocalTurn(const std::string& directory,
                                                             const std::string& coordinator,
                                                             int stop, int parent);

}  // namespace headrace::dataworker
