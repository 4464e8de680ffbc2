#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/unique_fd.h"

namespace headrace::client {

// Readable, or hung up, within `timeout`.
[[nodiscard]] bool WaitReadable(int fd, std::chrono::milliseconds timeout);

// A program that this process started, in a process group of its own: a Ctrl-C in the terminal is
// for the trainer to handle. Its standard input is empty. Thread-compatible.
class ChildProcess {
 public:
  // `log`: the file that its output goes to; it goes to our standard error where HEADRACE_LOG is
  // set, because then the user wants to see it as it comes. kNotFound: no such program.
  static Result<ChildProcess> Spawn(const std::vector<std::string>& command,
                                    const std::string& log);
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() = default;  // it goes on

  [[nodiscard]] std::int64_t pid() const { return pid_; }  // 0: none
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool running() const;
  // How it ended where that was no success ("was killed by signal 9", "ended with status 1"), also
  // where the program has reaped it and nobody knows; "" of one that runs or was never started.
  [[nodiscard]] std::string Failure() const;

  // Asks it to end and waits for that. False: it had not after `patience`.
  bool Terminate(std::chrono::milliseconds patience);
  // Ends it, and with it whoever is left of its process group.
  void Kill();

 private:
  void Signal(int number) const;

  std::int64_t pid_ = 0;
  net::UniqueFd pidfd_;
};

}  // namespace headrace::client
