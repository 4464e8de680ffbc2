#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/process/stats.h"
#include "base/result.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/exec/executor.h"
#include "dataworker/exec/io_executor.h"
#include "dataworker/memory/worker_memory.h"
#include "dataworker/peers/peer_cache.h"
#include "dataworker/peers/replica_moves.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/share/work_queue.h"
#include "dataworker/source/core/source.h"
#include "dataworker/worker/coordinator_link.h"
#include "dataworker/worker/data_service.h"
#include "dataworker/worker/worker_main.h"
#include "net/descriptor_watch.h"
#include "net/reactor.h"
#include "remote/object_client.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// What a worker has of its process and its host. A simulation gives it others.
struct WorkerSurroundings {
  wire::HostIdentity host;
  std::string token;        // nobody else can know it
  double allowed_cpus = 0;  // as Allowance::cpus; 0: not known
  // As PrivateDirectory.
  std::function<Result<std::string>(const std::string& given)> private_directory;
  std::function<std::unique_ptr<Executor>(int threads)> make_executor;
  // As the functions of base/process/stats.h.
  std::function<double(std::span<const std::int64_t> children)> cpu_seconds;
  std::function<std::uint64_t()> resident_bytes;
  std::function<std::uint64_t()> available_memory;  // as AvailableMemory; empty: not looked at
  std::function<ThreadUsage()> thread_usage;        // as UsageOfThisThread

  [[nodiscard]] static WorkerSurroundings OfThisProcess();
};

// A data worker. It owns its parts and their order of life, nothing else. It runs on a reactor of
// its caller, on that thread only. Everything ends with the object.
class Worker {
 public:
  // `on_end`: called when no reason is left to run on; empty status for a drain or a finished
  // Leave. `tiers`: those that the options may name. `sources`: those that plans may name.
  static Result<std::unique_ptr<Worker>> Start(
      net::Reactor& reactor, WorkerOptions options, std::function<void(Status)> on_end,
      const CacheRegistry& tiers = BuiltinCacheTiers(),
      const SourceRegistry& sources = BuiltinSources(),
      WorkerSurroundings surroundings = WorkerSurroundings::OfThisProcess());
  ~Worker();

  // Takes no new sessions, answers the open requests, tells the coordinator, then calls on_end.
  // That takes at most `patience`.
  void Leave(Duration patience);

  [[nodiscard]] const wire::WorkerInfo& info() const { return info_; }
  // The id that the coordinator gave; invalid until it has answered the registration.
  [[nodiscard]] WorkerId id() const { return coordinator_ ? coordinator_->worker() : WorkerId(); }
  [[nodiscard]] std::uint64_t directives() const {
    return coordinator_ ? coordinator_->directives() : 0;
  }
  // What it told the coordinator last, and whether it serves; `state` is "waiting" until it is registered.
  [[nodiscard]] wire::WorkerStatus Describe() const;
  [[nodiscard]] CacheStats cache_stats() const { return cache_->Stats(); }
  [[nodiscard]] const SourceReads& reads() const { return *reads_; }
  [[nodiscard]] const PeerCache& peers() const { return *peers_; }
  // Loaders that are attached.
  [[nodiscard]] std::size_t sessions() const { return service_->sessions(); }

 private:
  Worker(net::Reactor& reactor, std::function<void(Status)> on_end,
         WorkerSurroundings surroundings);
  Status Open(const WorkerOptions& options, const CacheRegistry& tiers,
              const SourceRegistry& sources);
  // Returns a function for any thread that has `wake` called on the reactor after a delay.
  template <typename Wake>
  [[nodiscard]] std::function<void(Duration)> WakeAfter(Wake wake);
  [[nodiscard]] wire::WorkerHeartbeat Load();
  void End(Status status);
  void EndWhenIdle();

  net::Reactor& reactor_;
  std::function<void(Status)> on_end_;
  const WorkerSurroundings surroundings_;
  wire::WorkerInfo info_;
  std::string arena_path_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<IoExecutor> io_;
  std::unique_ptr<remote::ObjectClient> objects_;
  std::shared_ptr<SampleStore> cache_;
  std::shared_ptr<PeerCache> peers_;
  std::shared_ptr<ReplicaMoves> replica_moves_;
  std::uint64_t memory_limit_ = 0;  // of the process
  std::shared_ptr<WorkerMemory> memory_;
  std::unique_ptr<WorkQueue> queue_;
  std::shared_ptr<SourceReads> reads_;
  std::unique_ptr<DataService> service_;
  std::unique_ptr<net::DescriptorWatch> descriptors_;
  std::unique_ptr<CoordinatorLink> coordinator_;  // none in tests without a coordinator
  wire::WorkerHeartbeat last_load_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  net::TimerId leave_timer_ = 0;  // 0: none
  net::TimerId room_timer_ = 0;   // looks at the host's memory; 0: none
  SteadyTime leave_until_{};
  bool leaving_ = false;
};

}  // namespace headrace::dataworker
