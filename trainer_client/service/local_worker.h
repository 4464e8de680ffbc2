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

// The worker beside a trainer that uses a shared coordinator: `headrace worker --local`. A process
// has one for each coordinator, which its clients share. Of the processes of a user on one host
// only one works at a time; another takes its place when it ends. It ends with its last client, or
// with the process. It leaves in order, because it may serve other programs of the same user.
// Thread-safe.
class LocalWorker {
 public:
  // Returns the process's one, after a call of Want.
  static Result<std::shared_ptr<LocalWorker>> Acquire(const ClientOptions& options);
  explicit LocalWorker(std::vector<std::string> command);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // Starts the worker if it does not run. kNotFound: no such program.
  Status Want(SteadyTime now);
  // Starts a worker that died again; the client calls it once in a while. The first pause is 1 s,
  // the next ones are 2 s until a worker has lived for a minute. A worker that ended by
  // itself stays away until it is wanted again. (The host has another worker, or an operator told
  // it to leave.)
  void Keep(SteadyTime now);
  [[nodiscard]] std::int64_t pid() const;  // 0: none runs

 private:
  Status Start(SteadyTime now);  // under the lock

  std::int64_t owner_pid_;
  std::vector<std::string> command_;
  mutable std::mutex mutex_;
  ChildProcess child_;
  SteadyTime started_{}, said_{};
  Duration pause_{};      // before the next start
  SteadyTime restart_{};  // the next start, while there is no child and `pause_` is not 0
};

}  // namespace headrace::client
