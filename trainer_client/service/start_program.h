#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process/child_process.h"
#include "base/result.h"

namespace headrace::client {

// Starts the program `headrace` with these words, in a process group of its own: the trainer
// handles a Ctrl-C in the terminal. Its output goes to the file `log`. If HEADRACE_LOG is set, it
// goes to our standard error, because the user wants to see it as it comes. kNotFound: no such
// program; the message says what to do. Thread-safe.
[[nodiscard]] Result<ChildProcess> StartProgram(const std::vector<std::string>& command,
                                                const std::string& log);

// The word after --cache: the bytes, or "auto" where nobody has said any.
[[nodiscard]] std::string CacheWord(std::optional<std::uint64_t> bytes);

}  // namespace headrace::client
