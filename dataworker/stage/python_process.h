#pragma once

#include <cstdint>
#include <string>

#include "base/graph.h"
#include "base/result.h"
#include "dataworker/stage/confine/confinement.h"
#include "net/reactor.h"

// The processes of Python stages, as the kernel sees them.
namespace headrace::dataworker {

// Starts `executable -m headrace.stage.host FD` with the trainer's import path; FD is a copy of
// `child_fd`. It and each process that it forks are confined before its first instruction.
// kUnsupported: no such interpreter.
Result<std::int64_t> SpawnPython(const std::string& executable, const PythonStage& stage,
                                 const Confinement& confinement, int child_fd);
// Returns a sentence that says how it ended; empty: it has not. `pid`: a child of this process.
[[nodiscard]] std::string ReapPython(std::int64_t pid);
// Kills it, and waits for its end without blocking.
void KillPython(net::Reactor& reactor, std::int64_t pid);

}  // namespace headrace::dataworker
