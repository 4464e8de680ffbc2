#include "tests/simulation/sim_world.h"

#include <utility>

#include "base/check.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "tests/simulation/sim_plans.h"

namespace headrace::simulation {
namespace {

// Nothing is made there.
constexpr const char* kFolder = "/nowhere/simulated";
constexpr Duration kStartAgain = std::chrono::milliseconds(500);
constexpr std::uint64_t kCacheBytes = std::uint64_t{1} << 20;

// The memory tier, which does not ask the machine for room.
const dataworker::CacheRegistry& MemoryTier() {
  static const dataworker::CacheRegistry registry = [] {
    dataworker::CacheRegistry made;
    made.Add({.name = "memory",
              .summary = "",
              .settings = {},
              .make = [](std::uint64_t budget,
                         const Settings&) -> Result<std::unique_ptr<dataworker::CacheTier>> {
                return dataworker::MakeMemoryCache(budget);
              }});
    return made;
  }();
  return registry;
}

std::string TokenOf(const SimProcess& process, const Dice& dice) {
  Dice own = dice.For("token", process.number());
  return "token " + std::to_string(own.Next());
}

}  // namespace

SimWorld::SimWorld(const Options& options)
    : options_(options),
      dice_(options.seed),
      own_dice_(dice_.For("world")),
      events_(options.aloud),
      network_(events_, dice_.For("network")),
      descriptors_(events_, dice_.For("descriptors")),
      disk_(events_, dice_.For("disk"), options.slowest_disk) {}

SimWorld::~SimWorld() {
  for (const auto& reactor : reactors_) reactor->process()->Kill();
  coordinator_.reset();
  workers_.clear();
  events_.Clear();
}

wire::HostIdentity SimWorld::IdentityOf(const SimProcess& process) {
  return {.hostname = process.host(),
          .boot_id = "boot of " + process.host(),
          .uid = 1000,
          .pid = static_cast<std::int64_t>(process.number())};
}

std::shared_ptr<SimReactor> SimWorld::MakeProcess(const std::string& host,
                                                  const std::string& name) {
  const std::uint64_t number = ++processes_;
  auto process =
      std::make_shared<SimProcess>(host, name + "#" + std::to_string(number), 1000 + number);
  reactors_.push_back(std::make_shared<SimReactor>(network_, descriptors_, std::move(process)));
  return reactors_.back();
}

SimProcess* SimWorld::coordinator_process() const {
  return coordinator_reactor_ ? coordinator_reactor_->process().get() : nullptr;
}

void SimWorld::StartCoordinator() {
  if (coordinator_) return;
  coordinator_reactor_ = MakeProcess(kHead, "coordinator");
  const std::shared_ptr<SimProcess> process = coordinator_reactor_->process();
  events_.Note("coordinator", process->number());
  coordinator::CoordinatorOptions wanted;
  wanted.listen = kCoordinator;
  wanted.insecure = true;
  wanted.host = IdentityOf(*process);
  wanted.cpu_seconds = [] { return 0.0; };
  if (options_.journal) {
    wanted.open_journal = [this, process](const coordinator::Journal::OnFailure&) {
      return disk_.Open(process);
    };
  }
  wanted.slow = options_.slow;
  wanted.workers = wanted.most_workers = options_.pool;
  wanted.make_pool =
      [this](net::Reactor& reactor, const coordinator::PoolOptions&,
             coordinator::PoolEvents events) -> Result<std::unique_ptr<coordinator::Pool>> {
    auto pool = std::make_unique<SimPool>(
        reactor, std::move(events),
        SimPool::Engine{
            .start = [this] { return StartWorker({.host = kHead, .cache_bytes = kCacheBytes}); },
            .kill = [this](std::int64_t pid) { KillWorker(pid, Death::kProcess); }});
    pool_ = pool.get();
    return std::unique_ptr<coordinator::Pool>(std::move(pool));
  };
  auto made = coordinator::Coordinator::Make(*coordinator_reactor_, std::move(wanted));
  HR_CHECK(made.ok());
  coordinator_ = std::move(made).value();
}

void SimWorld::KillCoordinator(Death how) {
  if (!coordinator_) return;
  events_.Note("coordinator killed");
  coordinator_reactor_->Kill(how);
  disk_.OnDeath();
  coordinator_.reset();
  pool_ = nullptr;
}

std::int64_t SimWorld::StartWorker(const WorkerPlace& place, const std::string& address) {
  const std::shared_ptr<SimReactor> reactor = MakeProcess(place.host, "worker");
  const std::shared_ptr<SimProcess> process = reactor->process();
  const auto pid = static_cast<std::int64_t>(process->number());
  events_.Note("worker", process->number());
  dataworker::WorkerOptions wanted;
  wanted.coordinator = kCoordinator;
  wanted.insecure = true;
  wanted.threads = place.threads;
  wanted.cache_bytes = place.cache_bytes;
  wanted.listen = address;
  if (address.empty()) {
    const std::string number = std::to_string(++addresses_);
    wanted.listen = place.unix_socket
                        ? std::string("ipc://") + kFolder + "/" + number
                        : "tcp://" + place.host + ":" + std::to_string(8000 + addresses_);
  }
  dataworker::WorkerSurroundings surroundings;
  surroundings.host = IdentityOf(*process);
  surroundings.token = TokenOf(*process, dice_);
  surroundings.private_directory = [](const std::string&) -> Result<std::string> {
    return std::string(kFolder);
  };
  const std::uint64_t slow = workers_started_++ == 0 ? options_.slow_first : 1;
  const auto rate = static_cast<Duration::rep>(slow);
  const SimExecutor::Times compute = {options_.compute.least * rate, options_.compute.most * rate};
  surroundings.make_executor = [this, process,
                                compute](int threads) -> std::unique_ptr<dataworker::Executor> {
    return std::make_unique<SimExecutor>(events_, dice_.For("executor", process->number()), process,
                                         threads, compute);
  };
  surroundings.cpu_seconds = [](std::span<const std::int64_t>) { return 0.0; };
  // A unit looks before and after.
  surroundings.thread_usage = [cpu = std::uint64_t{0}]() mutable {
    return ThreadUsage{.cpu_ns = cpu += 100'000, .waits = 0};
  };
  surroundings.resident_bytes = [] { return std::uint64_t{1} << 20; };
  // It outlives the worker with the process's reactor.
  auto sources = std::make_unique<dataworker::SourceRegistry>(dataworker::BuiltinSources());
  sources->Add("simulated",
               [this, process](const SourceLeaf&, const dataworker::SourceRegistry::Environment&) {
                 return Result<std::unique_ptr<dataworker::Source>>(
                     MakeSimSource(events_, dice_.For("source", process->number()), process, kRows,
                                   RowAt, options_.store_fails));
               });
  auto made = dataworker::Worker::Start(
      *reactor, wanted, [this, pid](const Status&) { OnWorkerEnd(pid); }, MemoryTier(), *sources,
      std::move(surroundings));
  if (!made.ok()) {  // its address is not free yet: whoever started it tries again
    events_.Say("  " + made.status().ToString());
    reactor->Kill(Death::kProcess);
    events_.After(kStartAgain, [this, place, address] { StartWorker(place, address); });
    return pid;
  }
  workers_[pid] = {place, wanted.listen, reactor, std::move(sources), std::move(made).value()};
  return pid;
}

void SimWorld::KillWorker(std::int64_t pid, Death how) {
  const auto found = workers_.find(pid);
  if (found == workers_.end()) return;
  events_.Note("worker killed", static_cast<std::uint64_t>(pid));
  found->second.reactor->Kill(how);
  OnWorkerEnd(pid);
}

void SimWorld::LeaveWorker(std::int64_t pid) {
  const auto found = workers_.find(pid);
  if (found == workers_.end()) return;
  events_.Note("worker leaves", static_cast<std::uint64_t>(pid));
  found->second.worker->Leave(std::chrono::seconds(5));
}

void SimWorld::OnWorkerEnd(std::int64_t pid) {
  auto ended = workers_.extract(pid);
  if (!ended) return;
  events_.Note("worker ended", static_cast<std::uint64_t>(pid));
  ended.mapped().worker.reset();
  // One that left has said its last words.
  ended.mapped().reactor->Kill(Death::kProcess);
  if (pool_ == nullptr) return;
  coordinator_reactor_->Post([this, pid, pool = pool_] {
    if (pool_ == pool) pool_->OnEnd(pid);
  });
}

}  // namespace headrace::simulation
