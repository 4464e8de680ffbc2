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
// process's. The program keeps running when the object is destroyed. Thread-compatible.
class ChildProcess {
 public:
  struct Ended {
    double cpu_seconds = 0;  // with the children that it has waited for
    bool failed = true;      // it did not end with status 0, or nobody knows
    std::string how;         // "ended with status 3", "was killed by signal 9"
  };

  // Errors: those of Spawn; kUnavailable or kResourceExhausted if the pidfd can't be made.
  static Result<ChildProcess> Start(const SpawnOptions& options);
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() = default;

  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: none was started, or it was reaped
  // Readable once the program has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool running() const;
  // Waits for the end. True: the program has ended, or there is none.
  [[nodiscard]] bool AwaitEnd(std::chrono::milliseconds patience) const;
  void Signal(int number) const;
  // To it and to all of its own process group; without one as Signal.
  void SignalGroup(int number) const;

  // Says how it has ended, even if somebody else has reaped it. Nothing: it runs, or there is none.
  [[nodiscard]] std::optional<Ended> Look() const;
  // Does the same as Look, and gives the process id back to the system.
  std::optional<Ended> Reap();
  // Kills and reaps it. If it has its own process group, the rest of the group is killed too.
  void Kill();

 private:
  pid_t pid_ = 0;
  bool own_group_ = false;
  UniqueFd pidfd_;
};

}  // namespace headrace
