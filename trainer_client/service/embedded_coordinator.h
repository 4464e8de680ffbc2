#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/process/child_process.h"
#include "base/result.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// CPU seconds of a process, its living descendants and their reaped children; 0 when it is gone.
[[nodiscard]] double ProcessTreeCpuSeconds(std::int64_t pid);

// The private coordinator of this process and, through it, local workers, in a private directory. A
// process has one, which all its clients share. It ends with the last of them, or with the process,
// which the coordinator and the workers watch. A Ctrl-C does not end it: that is for the trainer
// alone. If the coordinator is killed, its workers go on until this object goes. Thread-safe after
// Start.
class EmbeddedService {
 public:
  // Returns the running one, or starts one by `options` and waits until it accepts connections.
  // kNotFound: no such program. kUnavailable: it ended or was not ready in time (with its last
  // lines).
  static Result<std::shared_ptr<EmbeddedService>> Acquire(const ClientOptions& options);
  ~EmbeddedService();
  EmbeddedService(const EmbeddedService&) = delete;
  EmbeddedService& operator=(const EmbeddedService&) = delete;

  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  [[nodiscard]] bool running() const { return child_.running(); }
  [[nodiscard]] double CpuSeconds() const;

 private:
  EmbeddedService() = default;
  Status Start(const ClientOptions& options);
  Status MakeDirectory();
  Status Spawn(const ClientOptions& options);
  Status WaitReady(std::chrono::milliseconds timeout);
  [[nodiscard]] std::string LastLines() const;
  void Stop();

  std::int64_t owner_pid_ = 0;
  ChildProcess child_;  // the coordinator
  std::string directory_;
  std::string endpoint_;
};

}  // namespace headrace::client
