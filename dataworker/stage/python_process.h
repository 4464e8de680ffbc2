#pragma once

#include <cstdint>
#include <string>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"

// The processes of Python stages, as the kernel sees them.
namespace headrace::dataworker {

// Starts `executable -m headrace.stage.host FD` with the trainer's import path; FD is a copy of
// `child_fd`. `memory_bytes`: most data of it and of each process that it forks; 0: no limit.
// kUnsupported: no such interpreter.
Result<std::int64_t> SpawnPython(const std::string& executable, const PythonStage& stage,
                                 std::uint64_t memory_bytes, int child_fd);
// Returns a sentence that says how it ended; empty: it has not. `pid`: a child of this process.
[[nodiscard]] std::string ReapPython(std::int64_t pid);
// Kills it, and waits for its end without blocking.
void KillPython(net::Reactor& reactor, std::int64_t pid);

}  // namespace headrace::dataworker
