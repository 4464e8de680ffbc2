#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Starting programs. All thread-safe.
namespace headrace {

struct SpawnOptions {
  std::vector<std::string> command;  // program first; searched in PATH where it has no slash
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; none: that of this process
  bool empty_input = false;                             // standard input is /dev/null
  std::optional<std::string> log;  // output and errors are appended to this file, mode 0600
  bool output_to_errors = false;   // standard output goes where standard error goes
  std::vector<std::pair<int, int>> descriptors;  // {ours, the program's}
  bool close_others = false;                     // no descriptor from 3 on is passed
  bool own_group = false;     // a process group of its own: a Ctrl-C is for its starter alone
  bool reset_signals = true;  // none is blocked or ignored
  bool raised_limit = false;  // the limit of descriptors stays as RaiseDescriptorLimit has made it
};

// Starts the program. kNotFound: no such program, or it may not be run. kInvalidArgument: no
// command.
[[nodiscard]] Result<pid_t> Spawn(const SpawnOptions& options);

// Gives a descriptor that becomes readable when the process ends. Not valid, with errno: no such
// process.
[[nodiscard]] UniqueFd OpenPidfd(pid_t pid);

}  // namespace headrace
