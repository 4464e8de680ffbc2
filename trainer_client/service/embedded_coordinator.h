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

// The private coordinator of this process and, through it, local workers, in a private directory.
// One a process, shared by all its clients; ends with the last of them, with the process (the
// coordinator and the workers watch it), and not with a Ctrl-C, which is the trainer's alone. The
// workers of a coordinator that was killed go on until the object goes. Thread-safe after Start.
class EmbeddedService {
 public:
  // The running one, or a new one by `options`, once it is ready to be connected to.
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
