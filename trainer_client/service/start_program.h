#pragma once

#include <string>
#include <vector>

#include "base/process/child_process.h"
#include "base/result.h"

namespace headrace::client {

// Starts the program `headrace` with these words, in a process group of its own: a Ctrl-C in the
// terminal is for the trainer to handle. Its output goes to the file `log`; where HEADRACE_LOG is
// set it goes to our standard error, because the user wants to see it as it comes.
// kNotFound: no such program, and what to do about it. Thread-safe.
[[nodiscard]] Result<ChildProcess> StartProgram(const std::vector<std::string>& command,
                                                const std::string& log);

}  // namespace headrace::client
