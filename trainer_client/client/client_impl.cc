#include "trainer_client/client/client_impl.h"

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/secret.h"
#include "net/keyring.h"
#include "schemas/wire/host_identity.h"

namespace headrace {
namespace {

using client::Call;
using std::chrono::milliseconds;

constexpr Duration kKeepInterval = std::chrono::seconds(1);

std::uint64_t RandomBits() {
  std::uint64_t bits = 0;
  (void)!::getrandom(&bits, sizeof(bits), 0);  // never short for 8 bytes
  return bits;
}

// Most bytes of each worker's cache for the job. What the program says is for its own workers; it is a
// bound for others too.
std::uint64_t CacheBound(const ClientOptions& options) {
  const std::uint64_t most = options.cache_bytes.value_or(0);
  return most == 0 ? wire::kNoCacheBound : most;
}

}  // namespace

bool ClientImpl::forked() const { return runtime_ && runtime_->pid != ::getpid(); }

Result<std::unique_ptr<ClientImpl>> ClientImpl::Open(const ClientOptions& options) {
  std::unique_ptr<ClientImpl> impl(new ClientImpl(options));
  HR_RETURN_IF_ERROR(impl->Start());
  return impl;
}

Status ClientImpl::Start() {
  client::JobLink::Setup setup;
  setup.endpoint = options_.coordinator;
  if (!setup.endpoint.starts_with("tcp://")) options_.keys.clear();  // nothing leaves the host
  if (options_.coordinator.empty()) {
    HR_TRY(service_, client::EmbeddedService::Acquire(options_));
    setup.endpoint = service_->endpoint();
  }
  host_ = wire::ReadHostIdentity();
  setup.job_name = options_.job_name;
  setup.workers = options_.workers;
  setup.cache_bytes = CacheBound(options_);
  setup.tenant = options_.tenant;
  setup.priority = options_.priority;
  setup.group = options_.group;
  setup.rank = options_.rank;
  setup.link_bytes_per_second = options_.link_bytes_per_second;
  setup.rack = options_.rack;
  setup.warm = options_.warm;
  setup.host = host_;
  setup.token = MakeToken();
  runtime_ = std::make_shared<client::Runtime>();
  runtime_->pid = ::getpid();
  HR_TRY(runtime_->reactor, net::MakeKeyedReactor("headrace", options_.keys,
                                                  {wire::Role::kTrainer, wire::Role::kAdmin}));
  HR_RETURN_IF_ERROR(runtime_->reactor->Start());
  // A batch thread runs at once if a core is free. It never takes the core from the trainer that
  // just woke it, because next() would pay for our work.
  runtime_->reactor->Post([] {
    const sched_param normal{};
    (void)::sched_setscheduler(0, SCHED_BATCH, &normal);
  });
  core_ = std::make_shared<client::JobLink>(runtime_->reactor, std::move(setup));
  HR_RETURN_IF_ERROR(OpenJob());
  if (service_) runtime_->SetOnStarving([this] { RestartService(); });
  WantLocalWorker();
  if (options_.local_worker && !options_.coordinator.empty()) {
    runtime_->reactor->Post(
        [this] { runtime_->reactor->AddTimer(kKeepInterval, [this] { KeepLocalWorker(); }); });
  }
  return {};
}

Status ClientImpl::OpenJob() {
  const auto opened = Call<Status>(*runtime_, options_.connect_timeout,
                                   [core = core_](const auto& reply) { core->Start(reply); });
  if (opened) {
    return opened->ok() ? Status::Ok() : opened->WithContext("coordinator at " + endpoint());
  }
  const auto why = Call<Status>(*runtime_, milliseconds(1000),
                                [core = core_](const auto& reply) { reply(core->last_error()); });
  std::string message = "no coordinator answers at " + endpoint() + " within " +
                        std::to_string(options_.connect_timeout.count()) + " ms";
  if (why && !why->ok()) message += " (" + why->ToString() + ")";
  return Unavailable(message +
                     "; start one with `headrace coordinator`, correct the address (or the keys, "
                     "which both sides need or neither), or leave it "
                     "out to use local workers");
}

ClientImpl::~ClientImpl() { Close(); }

void ClientImpl::Close() {
  if (!runtime_ || forked() || runtime_->stopped) return;
  runtime_->SetOnStarving(nullptr);
  (void)Call<bool>(*runtime_, milliseconds(1000), [core = core_](const auto& reply) {
    core->Shutdown();
    reply(true);
  });
  runtime_->reactor->Stop();
  runtime_->stopped = true;
  const std::scoped_lock lock(mutex_);
  if (service_) ended_cpu_seconds_ = service_->CpuSeconds();
  service_.reset();
  local_worker_.reset();
}

// A private coordinator that died is replaced when the next session needs it.
Status ClientImpl::KeepService() {
  std::string endpoint;
  std::shared_ptr<client::EmbeddedService> former;
  {
    const std::scoped_lock lock(mutex_);
    if (!service_ || service_->running()) return Status::Ok();
    HR_TRY(auto next, client::EmbeddedService::Acquire(options_));
    former = std::exchange(service_, std::move(next));
    endpoint = service_->endpoint();
  }
  runtime_->reactor->Post([core = core_, endpoint, former = std::move(former)]() mutable {
    core->Reconnect(endpoint, std::move(former));
  });
  return Status::Ok();
}

// A session that waits may be the last one, and its workers lost: nobody else starts others.
void ClientImpl::RestartService() {
  if (runtime_->reactor->clock().Now() < restart_after_) return;
  const std::string former = endpoint();
  const Status kept = KeepService();
  if (kept.ok() && endpoint() == former) return;
  if (!kept.ok()) LogWarning("no private coordinator: " + kept.message());
  restart_after_ = runtime_->reactor->clock().Now() + kKeepInterval;
}

// Without a local worker the job still has the coordinator's other workers.
void ClientImpl::WantLocalWorker() {
  if (options_.coordinator.empty() || !options_.local_worker) return;
  const std::scoped_lock lock(mutex_);
  auto worker = client::LocalWorker::Acquire(options_);
  if (!worker.ok()) {
    LogWarning("no worker on this host: " + worker.status().message());
    return;
  }
  local_worker_ = std::move(worker).value();
}

void ClientImpl::KeepLocalWorker() {
  const std::scoped_lock lock(mutex_);
  if (local_worker_) local_worker_->Keep(runtime_->reactor->clock().Now());
}

Result<wire::ClusterStatus> ClientImpl::QueryCluster() {
  HR_RETURN_IF_ERROR(runtime_->Check());
  auto status = Call<Result<wire::ClusterStatus>>(
      *runtime_, options_.connect_timeout,
      [core = core_](const auto& reply) { core->QueryCluster(reply); });
  if (!status) return Unavailable("the coordinator at " + endpoint() + " does not answer");
  return *std::move(status);
}

Result<std::vector<WorkerSeen>> ClientImpl::Workers() {
  HR_TRY(const wire::ClusterStatus now, QueryCluster());
  std::vector<WorkerSeen> seen;
  for (const wire::WorkerStatus& worker : now.workers) {
    seen.push_back({.id = worker.info.worker.value,
                    .hostname = worker.info.host.hostname,
                    .state = worker.state});
  }
  return seen;
}

Result<DataSeen> ClientImpl::Data() {
  using Job = Result<JobId>;
  auto job = Call<Job>(*runtime_, options_.connect_timeout,
                       [core = core_](const auto& reply) { reply(core->job()); });
  if (!job) return Unavailable("the client is closed");
  HR_RETURN_IF_ERROR(job->status());
  HR_TRY(const wire::ClusterStatus now, QueryCluster());
  DataSeen seen;
  for (const wire::DatasetStatus& each : now.datasets) {
    if (std::ranges::find(each.jobs, **job) == each.jobs.end() || each.rows < seen.rows) continue;
    seen = {.name = each.name, .phase = each.phase, .rows = each.rows};
    for (const wire::DatasetPart& part : each.parts) {
      seen.entries += static_cast<std::int64_t>(part.entries);
      seen.bytes += part.bytes;
      seen.quota_bytes += part.quota_bytes;
    }
  }
  return seen;
}

Result<std::unique_ptr<Session>> ClientImpl::OpenSession(Plan plan, std::map<BlobHash, Blob> blobs,
                                                         const SessionOptions& options) {
  HR_RETURN_IF_ERROR(runtime_->Check());
  if (options.max_outstanding < 1) return InvalidArgument("max_outstanding is less than 1");
  // What another worker has read of its files shall not count where one is looked at alone.
  client::KnownSizes of_one_worker;
  HR_TRY(client::SessionPlan session,
         client::SessionPlan::Make(std::move(plan), std::move(blobs),
                                   options.only_worker >= 0 ? of_one_worker : sizes_));
  HR_RETURN_IF_ERROR(KeepService());
  WantLocalWorker();
  std::optional<wire::WorkerInfo> only_worker;
  if (options.only_worker >= 0) {
    HR_TRY(const wire::ClusterStatus now, QueryCluster());
    const auto found = std::ranges::find_if(now.workers, [&](const wire::WorkerStatus& worker) {
      return worker.info.worker.value == options.only_worker;
    });
    if (found == now.workers.end()) {
      return NotFound("the coordinator at " + endpoint() + " knows no worker " +
                      std::to_string(options.only_worker));
    }
    if (found->info.pass.empty()) {
      return Unavailable("the coordinator at " + endpoint() + " does not know this job yet");
    }
    only_worker = found->info;
  }

  const SessionId id(static_cast<std::int64_t>(RandomBits() >> 1));
  const std::vector<std::uint64_t> files = session.FilesOfLeaves();
  using Split = Result<wire::Split>;
  auto split = Call<Split>(*runtime_, options_.connect_timeout,
                           [core = core_, id, asked = session.plan(), files](const auto& reply) {
                             core->OpenSession(id, asked, files, reply);
                           });
  if (!split) {
    runtime_->reactor->Post([core = core_, id] { core->CloseSession(id); });
    return Unavailable("the coordinator at " + endpoint() + " does not answer");
  }
  if (!split->ok()) return split->status();
  wire::Split cut = std::move(*split).value();
  if (!session.RunsWhole(cut)) {
    runtime_->reactor->Post([core = core_, id] { core->CloseSession(id); });
    return Unsupported("the coordinator at " + endpoint() +
                       " cannot run all of the plan; it may be of an older release");
  }
  HR_TRY(auto arena, client::Arena::Make(options.max_arena_bytes));
  const bool python = session.plan().has_python_stage;
  client::SessionPump::Setup setup = session.Finish(cut);
  setup.options = options;
  setup.without_workers = client::WithoutWorkers::Options::For(options_, options, !python);
  client::LinkContext& context = setup.context;
  context.session = id;
  context.files = files;
  context.host = host_;
  context.cache_bytes = CacheBound(options_);
  context.arena = arena;
  context.gives_lanes = options.gives_lanes;
  const char* transport = std::getenv("HEADRACE_TRANSPORT");
  context.allow_arena = transport == nullptr || std::string_view(transport) != "tcp";
  auto shared = std::make_shared<client::BatchMailbox>(options.in_order);
  auto core = std::make_shared<client::SessionPump>(runtime_->reactor, std::move(setup), shared);
  runtime_->reactor->Post(
      [client = core_, core, only_worker] { client->AddSession(core, only_worker); });
  return std::make_unique<Session>(
      std::make_unique<TrainerSession>(runtime_, core_, std::move(core), std::move(shared),
                                       std::move(arena), id, options, std::move(cut)));
}

double ClientImpl::ServiceCpuSeconds() const {
  if (forked()) return 0;
  const std::scoped_lock lock(mutex_);
  return service_ ? service_->CpuSeconds() : ended_cpu_seconds_;
}

std::string ClientImpl::endpoint() const {
  if (!options_.coordinator.empty()) return options_.coordinator;
  const std::scoped_lock lock(mutex_);
  return service_ ? service_->endpoint() : "";
}

}  // namespace headrace
