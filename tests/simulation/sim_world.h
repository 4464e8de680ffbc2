#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "dataworker/worker/worker.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_descriptors.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_journal.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_pool.h"
#include "tests/simulation/sim_reactor.h"

namespace headrace::simulation {

// Hosts with processes: a coordinator, workers, and whoever the test adds. All of them run the
// product's code, on one thread, one clock and one network. What a process would draw from the system,
// dice draw here. One thread.
class SimWorld {
 public:
  struct Options {
    std::uint64_t seed = 0;
    bool aloud = false;
    bool journal = true;  // a restarted coordinator remembers
    int pool = 0;         // workers that the coordinator starts on its own host
    Duration slowest_disk = std::chrono::milliseconds(20);
    double store_fails = 0;        // the probability that a store does not have a row at the moment
    std::uint64_t slow_first = 1;  // tasks of the first worker take so many times as long
    coordinator::SlowRules slow = {};
    SimExecutor::Times compute = {std::chrono::microseconds(100), std::chrono::milliseconds(5)};
  };
  struct WorkerPlace {
    std::string host;
    bool unix_socket = false;  // listens on one; TCP otherwise
    int threads = 1;
    std::uint64_t cache_bytes = 0;
  };
  static constexpr const char* kHead = "head";  // the coordinator's host
  static constexpr const char* kCoordinator = "tcp://head:7070";

  explicit SimWorld(const Options& options);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  [[nodiscard]] EventQueue& events() { return events_; }
  [[nodiscard]] SimNetwork& network() { return network_; }
  [[nodiscard]] const Dice& dice() const { return dice_; }

  // A process. It stays until the world ends, dead or alive.
  std::shared_ptr<SimReactor> MakeProcess(const std::string& host, const std::string& name);
  [[nodiscard]] static wire::HostIdentity IdentityOf(const SimProcess& process);

  // Does nothing while one runs.
  void StartCoordinator();
  void KillCoordinator(Death how);
  [[nodiscard]] const coordinator::Coordinator* coordinator() const { return coordinator_.get(); }
  [[nodiscard]] bool coordinator_runs() const { return coordinator_ != nullptr; }
  [[nodiscard]] SimProcess* coordinator_process() const;

  // Starts a worker; the number is its pid. `address`: where it listens; empty: where nobody has yet.
  std::int64_t StartWorker(const WorkerPlace& place, const std::string& address = "");
  void KillWorker(std::int64_t pid, Death how);
  // It answers what it was asked and ends.
  void LeaveWorker(std::int64_t pid);
  struct WorkerProcess {
    WorkerPlace place;
    std::string address;
    std::shared_ptr<SimReactor> reactor;
    std::unique_ptr<dataworker::SourceRegistry> sources;
    std::unique_ptr<dataworker::Worker> worker;
  };
  // Those that live, by pid.
  [[nodiscard]] const std::map<std::int64_t, WorkerProcess>& workers() const { return workers_; }

 private:
  // Tells the pool, as the kernel would.
  void OnWorkerEnd(std::int64_t pid);

  const Options options_;
  const Dice dice_;
  Dice own_dice_;
  EventQueue events_;
  SimNetwork network_;
  SimDescriptors descriptors_;
  SimDisk disk_;
  std::uint64_t processes_ = 0;
  std::uint64_t addresses_ = 0;
  std::uint64_t workers_started_ = 0;
  std::vector<std::shared_ptr<SimReactor>> reactors_;
  std::map<std::int64_t, WorkerProcess> workers_;
  std::shared_ptr<SimReactor> coordinator_reactor_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  SimPool* pool_ = nullptr;  // the coordinator's
};

}  // namespace headrace::simulation
