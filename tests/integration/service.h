#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/client.h"
#include "tests/integration/images.h"
#include "tests/integration/iteration.h"

// Real processes for tests.
namespace headrace::testing_support {

// A child process, killed and reaped by the destructor.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  [[nodiscard]] int pid() const { return pid_; }
  void Kill();  // SIGKILL, and waits for the end

 private:
  int pid_ = 0;
};

// True once the process has ended (its own child or not).
[[nodiscard]] bool WaitForEnd(int pid, int timeout_ms);
// The children of a process.
[[nodiscard]] std::vector<int> ChildrenOf(int pid);
// Waits until `path` exists.
[[nodiscard]] bool WaitForFile(const std::string& path, int timeout_ms);

// A coordinator and workers as processes of their own, in a private folder.
class Cluster {
 public:
  // `cache`: of each worker, as for --cache.
  explicit Cluster(int workers, std::string cache = "0");
  // Waits until each worker follows what the coordinator has said to it by now.
  void WaitForWorkers() const;
  [[nodiscard]] std::shared_ptr<Client> Connect(ClientOptions options = {}) const;
  [[nodiscard]] Process& worker(int i) { return *workers_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Process& coordinator() { return *coordinator_; }
  void RestartCoordinator();  // at the same address; remembers nothing
  void AddWorker();

 private:
  TemporaryFolder folder_;
  const std::string cache_;
  std::unique_ptr<Process> coordinator_;
  std::vector<std::unique_ptr<Process>> workers_;
};

// The options of a private coordinator with `workers` workers.
[[nodiscard]] ClientOptions EmbeddedOptions(int workers);

}  // namespace headrace::testing_support
