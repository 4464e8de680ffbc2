#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "dataworker/worker/worker.h"
#include "net/fault_reactor.h"
#include "tests/integration/iteration.h"
#include "trainer_client/session/trainer_session.h"

namespace headrace::testing_support {

// A coordinator, workers and a client in this process, each on a reactor of its own, with a network
// between them that suffers faults.
class World {
 public:
  struct Options {
    int workers = 2;
    net::FaultRates rates;
    std::uint64_t seed = 0;
    // How long a request without an answer is waited for: faults are more frequent here.
    Duration resend_floor = std::chrono::milliseconds(300);
    bool arena = true;  // false: batches come as messages
    // Of each worker. 0: the job asks for no cache either; else it leaves the size to the coordinator.
    std::uint64_t cache_bytes = 0;
    // 0: all are on this host. Otherwise they seem to be on so many others, in turn.
    int hosts = 0;
    bool replicas = true;  // see coordinator::PlanRules
    // Of the workers; it outlives the world.
    const dataworker::SourceRegistry* sources = &dataworker::BuiltinSources();
  };
  explicit World(const Options& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Plans that draw in the trainer (RngMode::kTorch) must be Python's.
  std::unique_ptr<Session> Open(const Plan& plan, const std::map<BlobHash, Blob>& blobs,
                                std::int64_t keys);
  // The slots of the last session.
  [[nodiscard]] client::Arena::Counts slots() const { return arena_->counts(); }

  // Ends a worker as if its process had died: nobody is told.
  void KillWorker(std::size_t worker);
  // Has a worker leave: it answers what was asked and takes nothing new.
  void DrainWorker(std::size_t worker);
  // What the worker's cache has; nothing of one that was killed.
  [[nodiscard]] dataworker::CacheStats CacheOf(std::size_t worker) const;
  // As `headrace datasets` shows them.
  [[nodiscard]] std::vector<wire::DatasetStatus> Datasets() const;
  // Waits until all workers know that all of them own entries of a job.
  void AwaitOwners() const;

 private:
  // A reactor and the bad network on it.
  struct Site {
    std::unique_ptr<net::Reactor> reactor;
    std::shared_ptr<net::FaultReactor> net;
  };
  Site MakeSite(const std::string& name);

  const Options options_;
  TemporaryFolder folder_;
  std::uint64_t sites_ = 0;
  Site coordinator_site_, client_site_;
  std::vector<Site> worker_sites_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::vector<std::unique_ptr<dataworker::Worker>> workers_;
  std::shared_ptr<client::Runtime> runtime_;
  std::shared_ptr<client::JobLink> client_;
  std::shared_ptr<client::Arena> arena_;
  std::int64_t sessions_ = 0;
};

}  // namespace headrace::testing_support
