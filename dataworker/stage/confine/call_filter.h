#pragma once

#include "base/result.h"

// Which system calls the code of a stage may not make.
namespace headrace::dataworker {

// Whether this kernel filters system calls. Thread-safe.
[[nodiscard]] bool CallFilterAvailable();

// Has this thread, and what it starts, make none of the calls that no loader of data needs: they fail
// with EPERM. Nobody can undo it. Sets no_new_privs. REQUIRES: the process has one thread.
// kUnsupported: the kernel refuses the filter.
Status FilterCalls();

}  // namespace headrace::dataworker
