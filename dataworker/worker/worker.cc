#include "dataworker/worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/process/allowance.h"
#include "base/process/stats.h"
#include "base/secret.h"
#include "base/version.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/exec/tbb_executor.h"
#include "dataworker/memory/host_room.h"
#include "dataworker/stage/confine/confine_stages.h"
#include "dataworker/worker/private_directory.h"
#include "net/exposure.h"
#include "remote/options.h"
#include "schemas/wire/host_identity.h"

namespace headrace::dataworker {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr Duration kLeaveCheck = std::chrono::milliseconds(20);
// To look takes some 0.1 ms.
constexpr Duration kLookAtHost = std::chrono::seconds(1);
constexpr Duration kDrainPatience = std::chrono::seconds(30);

Result<std::vector<std::string>> RealPaths(const std::vector<std::string>& directories) {
  std::vector<std::string> real;
  for (const std::string& directory : directories) {
    if (directory.find("://") != std::string::npos) {  // a base of objects
      real.push_back(directory);
      continue;
    }
    const std::unique_ptr<char, decltype(&std::free)> path(::realpath(directory.c_str(), nullptr),
                                                           &std::free);
    if (!path) return ErrnoStatus(errno, "--allow-root " + directory);
    real.emplace_back(path.get());
  }
  return real;
}

// The tiers that the options name, fastest first. Without any it is the memory tier, without room.
Result<std::vector<CacheTierChoice>> CacheTiers(const WorkerOptions& options) {
  std::vector<CacheTierChoice> tiers;
  if (options.cache_bytes > 0 || options.cache_tiers.empty()) {
    tiers.push_back({"memory", {{"size", std::to_string(options.cache_bytes)}}});
  }
  for (const std::string& text : options.cache_tiers) {
    HR_TRY(CacheTierChoice tier, CacheTierChoice::Parse(text));
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

// A sixteenth of what is allowed is for the kernel, for pages of files and for others.
std::uint64_t MemoryFor(const WorkerOptions& options) {
  if (options.memory_bytes > 0) return options.memory_bytes;
  const std::uint64_t allowed = ReadAllowance().memory_bytes;
  return allowed - allowed / 16;
}

// Returns where to listen. `ipc`: the worker's own Unix socket.
Result<std::string> ListenAddress(const WorkerOptions& options, const std::string& ipc) {
  if (!options.listen.empty()) return options.listen;
  if (options.local || !options.coordinator.starts_with(kTcp)) return ipc;
  // Who uses the coordinator's network is there; other networks of this host need not be.
  const Result<std::string> address = net::AddressTowards(options.coordinator);
  if (!address.ok()) {
    return address.status().WithContext(
        "the address by which this host reaches its coordinator; say --listen tcp://ADDRESS:0");
  }
  return "tcp://" + *address + ":*";
}

// Returns the address that trainers use, from the one that was bound. `advertise`: what the user
// said, or empty.
std::string Advertised(const std::string& bound, const std::string& advertise,
                       const std::string& hostname) {
  if (!bound.starts_with(kTcp)) return bound;
  if (advertise.empty() && !net::IsAnyAddress(bound)) return bound;
  return std::string(kTcp) + (advertise.empty() ? hostname : advertise) +
         bound.substr(bound.rfind(':'));
}

}  // namespace

WorkerSurroundings WorkerSurroundings::OfThisProcess() {
  return {.host = wire::ReadHostIdentity(),
          .token = MakeToken(),
          .allowed_cpus = ReadAllowance().cpus,
          .private_directory = PrivateDirectory,
          .make_executor = MakeTbbExecutor,
          .cpu_seconds = CpuSeconds,
          .resident_bytes = ResidentBytes,
          .available_memory = [] { return AvailableMemory(); },
          .thread_usage = UsageOfThisThread};
}

Worker::Worker(net::Reactor& reactor, std::function<void(Status)> on_end,
               WorkerSurroundings surroundings)
    : reactor_(reactor), on_end_(std::move(on_end)), surroundings_(std::move(surroundings)) {}

Result<std::unique_ptr<Worker>> Worker::Start(net::Reactor& reactor, WorkerOptions options,
                                              std::function<void(Status)> on_end,
                                              const CacheRegistry& tiers,
                                              const SourceRegistry& sources,
                                              WorkerSurroundings surroundings) {
  std::unique_ptr<Worker> worker(new Worker(reactor, std::move(on_end), std::move(surroundings)));
  HR_RETURN_IF_ERROR(worker->Open(options, tiers, sources));
  return worker;
}

template <typename Wake>
std::function<void(Duration)> Worker::WakeAfter(Wake wake) {
  return [this, wake, weak = std::weak_ptr(alive_)](Duration delay) {
    reactor_.Post([this, wake, weak, delay] {
      if (weak.expired()) return;
      reactor_.AddOnce(delay, [wake, weak] {
        if (!weak.expired()) wake();
      });
    });
  };
}

Status Worker::Open(const WorkerOptions& options, const CacheRegistry& tiers,
                    const SourceRegistry& sources) {
  HR_TRY(const std::string directory, surroundings_.private_directory(options.directory));
  const std::string base = directory + "/w" + std::to_string(surroundings_.host.pid);
  HR_TRY(const std::string listen, ListenAddress(options, "ipc://" + base + ".data"));
  HR_RETURN_IF_ERROR(net::CheckExposure(listen, reactor_.guarded(), options.insecure));
  info_.host = surroundings_.host;
  const int threads = options.threads > 0 ? options.threads : UsableCpus();
  executor_ = surroundings_.make_executor(threads);
  HR_TRY(const std::vector<CacheTierChoice> chosen, CacheTiers(options));
  HR_TRY(cache_, tiers.MakeStore(chosen));
  memory_limit_ = MemoryFor(options);
  memory_ = WorkerMemory::Make(WorkerMemory::Budget(memory_limit_, PrivateBytes(), threads));
  memory_->SetCache([cache = std::weak_ptr(cache_)](std::uint64_t most) {
    const auto store = cache.lock();
    return store ? store->KeepTo(most) : 0;
  });
  queue_ = std::make_unique<WorkQueue>(
      WorkQueue::Parts{.executor = *executor_,
                       .clock = reactor_.clock(),
                       .wake_after = WakeAfter([this] { queue_->Wake(); }),
                       .usage = surroundings_.thread_usage});
  queue_->SetSourceLimit(options.source_bytes_per_second);
  io_ = std::make_unique<IoExecutor>(std::max(options.io_threads, 1));
  HR_TRY(remote::ClientOptions reach, remote::OptionsOfProcess(options.allowed_endpoints));
  objects_ = std::make_unique<remote::ObjectClient>(std::move(reach));
  reads_ = std::make_shared<SourceReads>(
      SourceReads::Parts{*queue_,
                         reactor_.clock(),
                         WakeAfter([this] { reads_->Wake(); }),
                         [&reactor = reactor_](std::shared_ptr<const void> released) {
                           reactor.Post([released = std::move(released)] {});
                         },
                         {.bytes = options.source_ahead_bytes,
                          .rows = static_cast<std::size_t>(std::max(options.source_requests, 1))}});
  HR_TRY(std::vector<std::string> roots, RealPaths(options.allowed_roots));
  HR_TRY(Confinement stages,
         ConfineStages(options.stages, RootsOfView(options.allowed_roots, roots)));
  peers_ = PeerCache::Make(reactor_, options.share_from_bytes, cache_->Stats().budget);
  cache_->SetOwners(peers_);
  descriptors_ = std::make_unique<net::DescriptorWatch>(reactor_);
  const std::string token = options.coordinator.empty() ? "" : surroundings_.token;
  service_ = std::make_unique<DataService>(DataService::Parts{
      reactor_, *executor_, *queue_, sources, *io_, *objects_, reads_, cache_, peers_, info_.host,
      Limits{std::move(stages), std::move(roots), options.quotas}, memory_, token,
      options.coordinator});
  replica_moves_ =
      std::make_shared<ReplicaMoves>(ReplicaMoves::Parts{reactor_, *executor_, cache_, peers_});
  arena_path_ = base + ".arena";
  HR_RETURN_IF_ERROR(service_->Listen(listen, base));

  info_.endpoints = {Advertised(service_->endpoint(), options.advertise, info_.host.hostname)};
  // Workers that a coordinator starts beside itself are where it wants them.
  const std::string& address = info_.endpoints.front();
  if (!options.local && options.parent_pid == 0 && options.coordinator.starts_with(kTcp) &&
      address.starts_with(kTcp) && net::IsLocalEndpoint(address)) {
    LogWarning("this worker serves programs of this host alone, at " + address +
               "; for other hosts say --listen tcp://0.0.0.0:0");
  }
  info_.arena_path = arena_path_;
  info_.cores = threads;
  // A container may have a part of a core. More threads than that rounded up are the user's choice.
  if (const double allowed = surroundings_.allowed_cpus;
      allowed > 0 && allowed < threads && threads <= std::ceil(allowed)) {
    info_.millicores = static_cast<std::uint32_t>(std::max(1L, std::lround(allowed * 1000)));
  }
  for (const auto& [name, stats] : cache_->TierStats()) {
    info_.tiers.push_back({name, stats.budget});
    info_.cache_bytes += stats.budget;
  }
  if (info_.cache_bytes > 0 && surroundings_.available_memory) {
    const std::uint64_t reserve = HostReserve(ReadAllowance().memory_bytes);
    room_timer_ = reactor_.AddTimer(kLookAtHost, [this, reserve] {
      memory_->LeaveToHost(surroundings_.available_memory(), reserve);
    });
  }
  info_.version = kVersion;
  info_.local = options.local;
  info_.share_from_bytes = options.share_from_bytes;
  info_.link_bytes_per_second = options.link_bytes_per_second;
  info_.rack = options.rack;
  info_.member = options.member;
  if (options.coordinator.empty()) return {};
  HR_TRY(coordinator_,
         CoordinatorLink::Open(
             reactor_, options.coordinator, info_, token,
             {.load = [this] { return last_load_ = Load(); },
              .on_registered = [](WorkerId) {},
              .on_drain = [this] { Leave(kDrainPatience); },
              .on_directive =
                  [this](const wire::WorkerDirective& directive, std::optional<SteadyTime> asked) {
                    service_->OnDirective(directive, asked);
                    peers_->OnDirective(id(), directive);
                    replica_moves_->OnDirective(directive);
                  },
              .on_refused =
                  [this, address = options.coordinator](const Status& status) {
                    End(status.WithContext("refused by the coordinator at " + address));
                  }}));
  return {};
}

Worker::~Worker() {
  if (leave_timer_ != 0) reactor_.CancelTimer(leave_timer_);
  if (room_timer_ != 0) reactor_.CancelTimer(room_timer_);
  coordinator_.reset();
  replica_moves_.reset();
  // Nothing new is queued, and running work ends soon. The channels close last: at a hang-up
  // trainers take their slots back, and no thread may write there any more.
  if (service_) service_->CloseSessions();
  if (executor_) executor_->Stop();
  // Answers refer to sessions, and give their part of the cache back. Rows of stopped sources are
  // answered by the sources, or by the last tasks of the io threads.
  if (reads_) reads_->Stop();
  if (io_) io_->Stop();
  if (objects_) objects_->Stop();
  if (cache_) cache_->Stop();
  if (peers_) peers_->Stop();
  service_.reset();
  // ZeroMQ does not remove it.
  constexpr std::string_view kIpc = "ipc://";
  for (const std::string& endpoint : info_.endpoints) {
    if (endpoint.starts_with(kIpc)) ::unlink(endpoint.substr(kIpc.size()).c_str());
  }
}

wire::WorkerHeartbeat Worker::Load() {
  const CacheStats cache = cache_->Stats();
  wire::WorkerHeartbeat beat;
  beat.resident_bytes = surroundings_.resident_bytes();
  beat.memory_limit_bytes = memory_limit_;
  beat.work_bytes = memory_->used();
  beat.cache_bytes = cache.bytes + cache.replicas.bytes;
  beat.cache_hits = cache.hits;
  beat.cache_misses = cache.misses;
  for (const auto& [name, tier] : cache_->TierStats()) {
    const std::uint64_t bytes = tier.bytes + tier.replicas.bytes;
    beat.tiers.push_back({name, bytes, tier.entries, tier.hits, tier.misses});
  }
  beat.samples = service_->samples_made();
  beat.queued_samples = static_cast<std::uint64_t>(std::max<std::int64_t>(queue_->queued(), 0)) +
                        service_->queued_stage_samples() + reads_->waiting_rows();
  beat.jobs = service_->jobs();
  beat.usage = service_->Usage();
  beat.cpu_seconds = surroundings_.cpu_seconds(service_->pids()) + service_->lanes_cpu_seconds();
  beat.dropped = service_->Dropped();
  return beat;
}

wire::WorkerStatus Worker::Describe() const {
  wire::WorkerStatus status;
  status.info = info_;
  status.info.worker = id();
  status.state = leaving_ ? "draining" : id().valid() ? "ready" : "waiting";
  status.last = last_load_;
  return status;
}

void Worker::Leave(Duration patience) {
  if (leaving_) return;
  leaving_ = true;
  service_->Drain();
  if (coordinator_) coordinator_->Leave();
  leave_until_ = reactor_.clock().Now() + patience;
  leave_timer_ = reactor_.AddTimer(kLeaveCheck, [this] { EndWhenIdle(); });
  EndWhenIdle();
}

void Worker::EndWhenIdle() {
  const bool late = reactor_.clock().Now() >= leave_until_;
  if (!late && (service_->sessions() > 0 || !service_->idle())) return;
  End({});
}

void Worker::End(Status status) {
  if (leave_timer_ != 0) reactor_.CancelTimer(leave_timer_);
  leave_timer_ = 0;
  if (coordinator_ && leaving_) coordinator_->Gone();
  // Posted, because the caller may be a callback of something that goes with this object.
  if (on_end_) reactor_.Post([end = std::exchange(on_end_, nullptr), status] { end(status); });
}

}  // namespace headrace::dataworker
