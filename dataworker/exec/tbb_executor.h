#pragma once

#include <memory>

#include "dataworker/exec/executor.h"

namespace headrace::dataworker {

// The executor of a real worker: a oneTBB arena of `threads` threads, named "hr-cpu-<n>". Threads
// are made when the first task comes, and sleep while there is none. REQUIRES: threads >= 1.
[[nodiscard]] std::unique_ptr<Executor> MakeTbbExecutor(int threads);

}  // namespace headrace::dataworker
