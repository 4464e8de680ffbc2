#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "trainer_client/child_process.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// The worker beside a trainer whose coordinator is another's: `headrace worker --local`. One a
// process and coordinator, shared by its clients; of the processes of a user on one host only one
// works at a time, and the others take its place when it ends. It ends with its last client, or
// with the process, as an orderly leave: it may serve other programs of the same user. Thread-safe.
class LocalWorker {
 public:
  // The running one, or a new one that is on its way. kNotFound: no such program.
  static Result<std::shared_ptr<LocalWorker>> Acquire(const ClientOptions& options);
  explicit LocalWorker(ChildProcess child);
  ~LocalWorker();
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  [[nodiscard]] bool running() const { return child_.running(); }

 private:
  std::int64_t owner_pid_;
  ChildProcess child_;
};

}  // namespace headrace::client
