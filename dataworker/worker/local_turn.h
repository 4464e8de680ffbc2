#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {

// One user's programs may start several local workers (WorkerOptions::local) on a host for one
// coordinator. Only one of them works at a time. The others wait for its end, however it ends.
//
// Blocks until it is the caller's turn. Returns the lock that holds the turn (a file in
// `directory`, released with the descriptor). nullopt: `stop` or `parent` (-1: none) became
// readable first. Errors: those of the file.
[[nodiscard]] Result<std::optional<UniqueFd>> AwaitLocalTurn(const std::string& directory,
                                                             const std::string& coordinator,
                                                             int stop, int parent);

}  // namespace headrace::dataworker
