#include "tests/integration/world.h"

#include <unistd.h>

#include <future>
#include <utility>

#include "base/check.h"
#include "coordinator/dataset_view.h"
#include "coordinator/describe_datasets.h"
#include "net/test_util.h"
#include "schemas/wire/host_identity.h"
#include "tests/integration/thread_executor.h"

namespace headrace::testing_support {
namespace {

using net::testing::RunOn;

// Starts `ask`, which gets a function to call with the answer, and waits for that.
template <typename Answer, typename Ask>
Answer Await(net::Reactor& reactor, Ask ask) {
  const auto answer = std::make_shared<std::promise<Answer>>();
  reactor.Post([=] { ask([answer](Answer value) { answer->set_value(std::move(value)); }); });
  return answer->get_future().get();
}

}  // namespace

World::Site World::MakeSite(const std::string& name) {
  Site site;
  site.reactor = *net::Reactor::Make(name);
  site.net =
      std::make_shared<net::FaultReactor>(*site.reactor, options_.rates, options_.seed + sites_++);
  HR_CHECK(site.reactor->Start().ok());
  return site;
}

World::World(const Options& options) : options_(options) {
  const std::string endpoint = "ipc://" + folder_.path() + "/control";
  coordinator_site_ = MakeSite("coordinator");
  RunOn(*coordinator_site_.net, [&] {
    coordinator::CoordinatorOptions wanted;
    wanted.listen = endpoint;
    wanted.heartbeat = std::chrono::milliseconds(50);
    wanted.worker_beats = wanted.job_beats = 100;
    wanted.replicas = options_.replicas;
    coordinator_ = *coordinator::Coordinator::Make(*coordinator_site_.net, std::move(wanted));
  });
  workers_.resize(static_cast<std::size_t>(options.workers));
  for (std::unique_ptr<dataworker::Worker>& worker : workers_) {
    const Site& site = worker_sites_.emplace_back(MakeSite("worker"));
    dataworker::WorkerOptions wanted;
    wanted.coordinator = endpoint;
    wanted.directory = folder_.path() + "/w" + std::to_string(worker_sites_.size());
    wanted.threads = 1;
    wanted.cache_bytes = options.cache_bytes;
    wanted.share_from_bytes = 0;  // pictures of tests are small
    auto surroundings = dataworker::WorkerSurroundings::OfThisProcess();
    if (options.hosts > 0) {
      const std::size_t host = worker_sites_.size() % static_cast<std::size_t>(options.hosts);
      surroundings.host.hostname = surroundings.host.boot_id = "host" + std::to_string(host);
      wanted.listen = "tcp://127.0.0.1:0";
      // A worker at an address of loopback serves its own host alone. This one leads there too.
      wanted.advertise = "127.1";
    }
    surroundings.make_executor = [](int) { return std::make_unique<ThreadExecutor>(); };
    RunOn(*site.net, [&] {
      worker = *dataworker::Worker::Start(
          *site.net, wanted, [](const Status&) {}, dataworker::BuiltinCacheTiers(),
          *options.sources, std::move(surroundings));
    });
  }
  client_site_ = MakeSite("client");
  runtime_ = std::make_shared<client::Runtime>();
  runtime_->reactor = client_site_.net;
  runtime_->pid = ::getpid();
  client::JobLink::Setup setup;
  setup.endpoint = endpoint;
  setup.host = wire::ReadHostIdentity();
  setup.token = "the client of a bad network";
  if (options.cache_bytes > 0) setup.cache_bytes = wire::kNoCacheBound;
  client_ = std::make_shared<client::JobLink>(client_site_.net, std::move(setup));
  const auto opened =
      Await<Status>(*client_site_.net, [this](const auto& reply) { client_->Start(reply); });
  HR_CHECK(opened.ok());
}

World::~World() {
  RunOn(*client_site_.net, [this] { client_->Shutdown(); });
  client_site_.reactor->Stop();
  runtime_->stopped = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    RunOn(*worker_sites_[i].net, [&] { workers_[i].reset(); });
    worker_sites_[i].reactor->Stop();
  }
  RunOn(*coordinator_site_.net, [this] { coordinator_.reset(); });
  coordinator_site_.reactor->Stop();
}

void World::KillWorker(std::size_t worker) {
  RunOn(*worker_sites_[worker].net, [&] { workers_[worker].reset(); });
}

void World::DrainWorker(std::size_t worker) {
  RunOn(*worker_sites_[worker].net, [&] { workers_[worker]->Leave(std::chrono::seconds(10)); });
}

dataworker::CacheStats World::CacheOf(std::size_t worker) const {
  dataworker::CacheStats stats;
  RunOn(*worker_sites_[worker].net, [&] {
    if (workers_[worker]) stats = workers_[worker]->cache_stats();
  });
  return stats;
}

std::vector<wire::DatasetStatus> World::Datasets() const {
  std::vector<wire::DatasetStatus> shown;
  RunOn(*coordinator_site_.net, [&] {
    const coordinator::State& state = coordinator_->state();
    shown = coordinator::DescribeDatasets(state, coordinator::ViewDatasets(state));
  });
  return shown;
}

void World::AwaitOwners() const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    std::size_t owners = 0;
    while (owners < workers_.size()) {
      RunOn(*worker_sites_[i].net, [&] { owners = workers_[i]->peers().owners(); });
      std::this_thread::yield();
    }
  }
}

std::unique_ptr<Session> World::Open(const Plan& plan, const std::map<BlobHash, Blob>& blobs,
                                     std::int64_t keys) {
  const SessionId id(++sessions_);
  auto split = Await<Result<wire::Split>>(
      *client_site_.net, [&](const auto& reply) { client_->OpenSession(id, plan, {}, reply); });
  HR_CHECK(split.ok());
  arena_ = *client::Arena::Make(std::uint64_t{64} << 20);
  SessionOptions options;
  client::SessionPump::Setup setup;
  setup.options = options;
  setup.resend_floor = options_.resend_floor;
  setup.planner.rng = plan.rng;
  setup.planner.lanes = plan.lanes;
  setup.planner.native = !plan.has_python_stage;
  setup.planner.keys = keys;
  client::LinkContext& context = setup.context;
  context.session = id;
  context.host = wire::ReadHostIdentity();
  context.plan = plan;
  context.split = *std::move(split);
  context.allow_arena = options_.arena;
  if (options_.cache_bytes > 0) context.cache_bytes = wire::kNoCacheBound;
  context.arena = arena_;
  context.blobs = std::make_unique<client::BlobStore>(blobs);
  auto shared = std::make_shared<client::BatchMailbox>(true);
  auto core = std::make_shared<client::SessionPump>(client_site_.net, std::move(setup), shared);
  client_site_.net->Post([client = client_, core] { client->AddSession(core); });
  return std::make_unique<Session>(std::make_unique<TrainerSession>(
      runtime_, client_, std::move(core), std::move(shared), arena_, id, options, wire::Split()));
}

}  // namespace headrace::testing_support
