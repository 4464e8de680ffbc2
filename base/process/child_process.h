#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/process/spawn.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace {

// A program that this process started. A pidfd watches it, so its id is never mistaken for another
// process's. It goes on when the object goes. Thread-compatible.
class ChildProcess {
 public:
  struct Ended {
    double cpu_seconds = 0;  // of it and of the children that it has waited for
    bool failed = true;      // it did not end with status 0, or nobody knows
    std::string how;         // "ended with status 3", "was killed by signal 9"
  };

  // Errors: those of Spawn, and kUnavailable, kResourceExhausted of the pidfd.
  static Result<ChildProcess> Start(const SpawnOptions& options);
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() = default;

  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: none was started, or it was reaped
  // Readable once it has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool running() const;
  // True: it has ended, or there is none.
  [[nodiscard]] bool AwaitEnd(std::chrono::milliseconds patience) const;
  void Signal(int number) const;

  // How it has ended, also where somebody else has reaped it; nothing: it runs, or there is none.
  [[nodiscard]] std::optional<Ended> Look() const;
  // The same, and gives its id back to the system.
  std::optional<Ended> Reap();
  // Kills and reaps it. With it goes who is left of its process group, where it has its own.
  void Kill();

 private:
  pid_t pid_ = 0;
  bool own_group_ = false;
  UniqueFd pidfd_;
};

}  // namespace headrace
