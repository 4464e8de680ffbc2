#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/client.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"

// Real processes for tests.
namespace headrace::testing_support {

// A folder that goes with the object; short, for sockets are made in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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

// Index batches over `samples` keys in a seeded order.
[[nodiscard]] std::vector<std::vector<std::int64_t>> IndexBatches(std::int64_t samples,
                                                                  std::int64_t batch_size,
                                                                  std::uint64_t seed);

// The content of a batch: its number, missing rows and every field's bytes.
[[nodiscard]] std::uint64_t Fingerprint(const Batch& batch);

// Runs one iteration; calls `at` with each batch. Fails the test on any error. Returns
// fingerprints.
std::vector<std::uint64_t> RunIteration(Session& session,
                                        const std::vector<std::vector<std::int64_t>>& batches,
                                        const IterationOptions& options,
                                        const std::function<void(const Batch&)>& at = {});

}  // namespace headrace::testing_support
