#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/unique_fd.h"

namespace headrace::coordinator {

// A child process of ours that is watched through a pidfd, so its id is never mistaken for
// another's. Thread-compatible. The destructor kills and reaps a child that still runs.
class ChildProcess {
 public:
  struct Ended {
    double cpu_seconds = 0;  // its own and its reaped children's
    std::string how;         // "exit code 3", "signal 9"
  };

  // Runs `command` (program first, searched in PATH when it has no slash) with no signal blocked or
  // ignored, stdin from /dev/null. kNotFound: no such program.
  static Result<ChildProcess> Start(const std::vector<std::string>& command);
  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] int pid() const { return pid_; }
  // Readable once the child has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  void Signal(int signal) const;
  // Reaps the child if it has ended. At most once with a value.
  std::optional<Ended> Reap();

 private:
  ChildProcess(int pid, net::UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  int pid_;
  net::UniqueFd pidfd_;  // invalid once reaped
};

}  // namespace headrace::coordinator
