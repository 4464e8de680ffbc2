#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/result.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// The worker beside a trainer whose coordinator is another's: `headrace worker --local`. One a
// process and coordinator, shared by its clients; of the processes of a user on one host only one
// works at a time, and the others take its place when it ends. It ends with its last client, or
// with the process, as an orderly leave: it may serve other programs of the same user. Thread-safe.
class LocalWorker {
 public:
  // It, as Want leaves it.
  static Result<std::shared_ptr<LocalWorker>> Acquire(const ClientOptions& options);
  explicit LocalWorker(std::vector<std::string> command);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // Starts it where it does not run. kNotFound: no such program.
  Status Want(SteadyTime now);
  // Starts one that died again, to be called once in a while: after 1 s, then after pauses that
  // double up to 60 s, until one has lived for as long. One that ended by itself (the host has
  // another worker, or an operator told it to leave) stays away until it is wanted again.
  void Keep(SteadyTime now);
  [[nodiscard]] std::int64_t pid() const;  // 0: none runs

 private:
  Status Start(SteadyTime now);  // under the lock

  std::int64_t owner_pid_;
  std::vector<std::string> command_;
  mutable std::mutex mutex_;
  ChildProcess child_;
  SteadyTime started_{};
  Duration pause_{};      // before the next start
  SteadyTime restart_{};  // the next start, while there is no child and `pause_` is not 0
};

}  // namespace headrace::client
