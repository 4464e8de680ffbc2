#include "coordinator/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "coordinator/test_peer.h"
#include "schemas/wire/host_identity.h"

// A real coordinator with its sockets, journal and pool, and peers that speak the protocol by hand.
namespace headrace::coordinator {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Real time, and a wall clock that a test can put forward, since a restart takes no time here.
class ForwardClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return Clock::Real().Now(); }
  [[nodiscard]] std::int64_t WallMillis() const override {
    return Clock::Real().WallMillis() + forward_ms;
  }
  std::int64_t forward_ms = 0;  // changed only while no reactor runs
};

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "coord" + std::string(6, 'X');
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    options_.listen = "ipc://" + directory_ + "/control";
    options_.heartbeat = milliseconds(20);
    options_.worker_beats = 5;
    options_.job_beats = 1000;
    peers_ = std::move(net::Reactor::Make("peers")).value();
    ASSERT_TRUE(peers_->Start().ok());
  }
  void TearDown() override {
    StopCoordinator();
    peers_->Stop();
    std::filesystem::remove_all(directory_);
  }

  void StartCoordinator() {
    reactor_ = std::move(net::Reactor::Make("coordinator", clock_)).value();
    auto made = Coordinator::Make(*reactor_, options_);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    coordinator_ = std::move(made).value();
    ASSERT_TRUE(reactor_->Start().ok());
  }
  void StopCoordinator() {
    if (!reactor_) return;
    reactor_->Stop();
    coordinator_.reset();
    reactor_.reset();
  }
  std::unique_ptr<TestPeer> Peer() { return std::make_unique<TestPeer>(*peers_, options_.listen); }

  static wire::OpenJob Open(const std::string& token) {
    wire::OpenJob open;
    open.request = 1;
    open.token = token;
    open.name = "train.py";
    open.host = wire::ReadHostIdentity();
    open.version = "0.1.0";
    return open;
  }
  static wire::RegisterWorker Register(const std::string& token, std::int64_t pid = 0) {
    wire::RegisterWorker m;
    m.request = 1;
    m.token = token;
    m.info.endpoints = {"tcp://127.0.0.1:1"};
    m.info.host = wire::ReadHostIdentity();
    m.info.host.pid = pid;
    m.info.cores = 2;
    m.info.version = "0.1.0";
    return m;
  }
  static wire::ConsumerHeartbeat Beat(const wire::JobOpened& job,
                                      std::vector<WorkerId> suspected = {}) {
    return {2, job.job, job.consumer, {}, std::move(suspected)};
  }
  static wire::WorkerHeartbeat Beat(WorkerId worker) {
    wire::WorkerHeartbeat beat;
    beat.request = 3;
    beat.worker = worker;
    return beat;
  }

  std::string directory_;
  ForwardClock clock_;
  CoordinatorOptions options_;
  std::unique_ptr<net::Reactor> peers_;
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, AStrangersHeartbeatDoesNotDivertLeases) {
  StartCoordinator();
  auto client = Peer(), stranger = Peer(), worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  EXPECT_EQ(stranger->Ask<wire::Leases>(Beat(job)).status.code(), Code::kNotFound);
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker;
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1));
  EXPECT_EQ(stranger->Ask<wire::WorkerDirective>(Beat(id)).status.code(), Code::kNotFound);
  client->Send(wire::CloseJob{job.job});
  EXPECT_THAT(worker->Await<wire::WorkerDirective>().jobs, SizeIs(1));
  EXPECT_THAT(worker->Await<wire::WorkerDirective>().jobs, IsEmpty());
}

TEST_F(CoordinatorTest, ANameThatFakesALineIsPlainFromTheBeginning) {
  StartCoordinator();
  auto client = Peer();
  wire::OpenJob open = Open("token-of-job");
  open.name = "train.py\n2026 I all is well\x1b[2K";
  EXPECT_TRUE(client->Ask<wire::JobOpened>(open).status.ok());
  const auto status = client->Ask<wire::ClusterStatus>(wire::StatusQuery{2});
  ASSERT_THAT(status.jobs, SizeIs(1));
  EXPECT_EQ(status.jobs[0].name, "train.py\\x0a2026 I all is well\\x1b[2K");
}

TEST_F(CoordinatorTest, LeasesArePushedAsSoonAsAWorkerIsThere) {
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  ASSERT_TRUE(job.status.ok()) << job.status.ToString();
  EXPECT_EQ(job.heartbeat_ms, 20U);
  const auto registered = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker"));
  const auto pushed = client->Await<wire::Leases>();
  EXPECT_EQ(pushed.request, 0U);
  ASSERT_THAT(pushed.workers, SizeIs(1));
  EXPECT_EQ(pushed.workers[0].worker, registered.worker);
  EXPECT_THAT(worker->Await<wire::WorkerDirective>().jobs, testing::ElementsAre(job.job));
  const auto leases = client->Ask<wire::Leases>(Beat(job));
  EXPECT_EQ(leases.request, 2U);
  EXPECT_EQ(leases.generation, pushed.generation);
}

TEST_F(CoordinatorTest, ASilentWorkerIsTakenAwayAndGivenBackWhenItBeats) {
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker;
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1));
  EXPECT_THAT(client->Await<wire::Leases>().workers, IsEmpty()) << "after five missed beats";
  worker->Send(Beat(id));
  const auto back = client->Await<wire::Leases>();
  EXPECT_THAT(back.workers, SizeIs(1));
  EXPECT_EQ(back.generation, 3U);
  EXPECT_EQ(back.job, job.job);
}

TEST_F(CoordinatorTest, ASuspectedWorkerWhoseProcessIsGoneIsTakenAwayAtOnce) {
  options_.heartbeat = std::chrono::seconds(100);  // silence alone would take minutes
  StartCoordinator();
  pid_t dead = 0;
  const char* argv[] = {"true", nullptr};
  ASSERT_EQ(::posix_spawnp(&dead, "true", nullptr, nullptr, const_cast<char**>(argv), environ), 0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker", dead)).worker;
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1));
  client->Send(Beat(job, {id}));
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1)) << "the answer to the heartbeat";
  EXPECT_THAT(client->Await<wire::Leases>().workers, IsEmpty());
}

TEST_F(CoordinatorTest, ASuspectedWorkerWhoseProcessLivesStays) {
  options_.heartbeat = std::chrono::seconds(100);
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id =
      worker->Ask<wire::WorkerRegistered>(Register("token-of-worker", ::getpid())).worker;
  client->Await<wire::Leases>();
  client->Ask<wire::Leases>(Beat(job, {id}));
  EXPECT_THAT(client->Ask<wire::Leases>(Beat(job)).workers, SizeIs(1));
}

TEST_F(CoordinatorTest, WithAJournalARestartGoesOnWhereItEnded) {
  options_.state_dir = directory_ + "/state";
  options_.heartbeat = std::chrono::seconds(10);  // no period ends while the test runs
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker;
  const auto before = client->Await<wire::Leases>();
  StopCoordinator();
  StartCoordinator();
  const auto after = client->Ask<wire::Leases>(Beat(job));
  EXPECT_TRUE(after.status.ok()) << after.status.ToString();
  EXPECT_EQ(after.generation, before.generation);
  ASSERT_THAT(after.workers, SizeIs(1));
  EXPECT_EQ(after.workers[0], before.workers[0]);
  const auto directive = worker->Ask<wire::WorkerDirective>(Beat(id));
  EXPECT_TRUE(directive.status.ok());
  EXPECT_THAT(directive.jobs, SizeIs(1));
  EXPECT_THAT(directive.grants, SizeIs(1)) << "without any, a worker lifts every limit";
  EXPECT_EQ(client->Ask<wire::JobOpened>(Open("token-of-job")).job, job.job);
  EXPECT_NE(client->Ask<wire::JobOpened>(Open("token-of-other")).job, job.job);
}

TEST_F(CoordinatorTest, ASampleThatIsHeldBackStaysSoUntilTheCoordinatorIsToldToForget) {
  options_.state_dir = directory_ + "/state";
  StartCoordinator();
  auto client = Peer();
  wire::ConsumerHeartbeat beat = Beat(client->Ask<wire::JobOpened>(Open("token-of-job")));
  beat.data_sets = {7};
  const auto held_back = [&] { return client->Ask<wire::Leases>(beat).held_back; };
  beat.bad = {{.data_set = 7, .row = 3, .name = "large.png", .held_back = true}};
  EXPECT_THAT(held_back(), SizeIs(1));
  beat.bad.clear();
  StopCoordinator();
  StartCoordinator();
  EXPECT_THAT(held_back(), SizeIs(1));
  StopCoordinator();
  options_.forget_bad_samples = true;
  StartCoordinator();
  EXPECT_THAT(held_back(), IsEmpty());
  StopCoordinator();
  options_.forget_bad_samples = false;
  StartCoordinator();
  EXPECT_THAT(held_back(), IsEmpty()) << "it was forgotten for good";
}

TEST_F(CoordinatorTest, ALocalWorkerServesItsOwnUserAloneAfterARestartToo) {
  options_.state_dir = directory_ + "/state";
  options_.worker_beats = 1000;
  StartCoordinator();
  auto local = Register("token-of-worker");
  local.info.local = true;
  const auto id = Peer()->Ask<wire::WorkerRegistered>(local).worker;
  StopCoordinator();
  StartCoordinator();
  auto of_another = Open("token-of-another");
  of_another.host.uid += 1;
  auto stranger = Peer();
  auto owner = Peer();
  const auto strangers = stranger->Ask<wire::JobOpened>(of_another);
  const auto owners = owner->Ask<wire::JobOpened>(Open("token-of-owner"));
  ASSERT_TRUE(strangers.status.ok() && owners.status.ok());
  const auto leases = owner->Ask<wire::Leases>(Beat(owners));
  ASSERT_THAT(leases.workers, SizeIs(1));
  EXPECT_EQ(leases.workers[0].worker, id);
  EXPECT_THAT(stranger->Ask<wire::Leases>(Beat(strangers)).workers, IsEmpty());
}

TEST_F(CoordinatorTest, WithoutAJournalEverybodyIntroducesItselfAgain) {
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  const auto job = client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker;
  client->Await<wire::Leases>();
  worker->Await<wire::WorkerDirective>();
  StopCoordinator();
  clock_.forward_ms += 10;
  StartCoordinator();
  client->Send(wire::CloseJob{job.job});
  auto other = Peer();
  EXPECT_GT(other->Ask<wire::JobOpened>(Open("token-of-other")).job, job.job);
  EXPECT_EQ(client->Ask<wire::Leases>(Beat(job)).status.code(), Code::kNotFound);
  EXPECT_EQ(worker->Ask<wire::WorkerDirective>(Beat(id)).status.code(), Code::kNotFound);
  const auto again = client->Ask<wire::JobOpened>(Open("token-of-job"));
  EXPECT_GT(again.job, job.job) << "an id of the former coordinator means nobody here";
  EXPECT_GT(again.consumer, job.consumer);
  EXPECT_GT(worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker, id);
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1));
}

TEST_F(CoordinatorTest, ManyJobsAtOnceAreAllDurableAndAnswered) {
  options_.state_dir = directory_ + "/state";
  StartCoordinator();
  auto client = Peer();
  constexpr int kJobs = 200;
  for (int i = 0; i < kJobs; ++i) client->Send(Open("token-of-job-" + std::to_string(i)));
  std::set<JobId> ids;
  for (int i = 0; i < kJobs; ++i) ids.insert(client->Await<wire::JobOpened>().job);
  EXPECT_THAT(ids, SizeIs(kJobs));
  StopCoordinator();
  StartCoordinator();
  wire::StatusQuery query;
  query.request = 9;
  const auto status = client->Ask<wire::ClusterStatus>(query);
  EXPECT_THAT(status.jobs, SizeIs(kJobs));
  EXPECT_GT(status.coordinator_cpu_seconds, 0);
}

TEST_F(CoordinatorTest, ADrainedWorkerIsToldAtOnce) {
  options_.worker_beats = 1000;
  StartCoordinator();
  auto client = Peer();
  auto worker = Peer();
  client->Ask<wire::JobOpened>(Open("token-of-job"));
  const auto id = worker->Ask<wire::WorkerRegistered>(Register("token-of-worker")).worker;
  EXPECT_FALSE(worker->Await<wire::WorkerDirective>().drain);
  reactor_->Post([&] {
    EXPECT_TRUE(coordinator_->Drain(id).ok());
    EXPECT_EQ(coordinator_->Drain(WorkerId(99)).code(), Code::kNotFound);
  });
  EXPECT_TRUE(worker->Await<wire::WorkerDirective>().drain);
  EXPECT_THAT(client->Await<wire::Leases>().workers, SizeIs(1));
  EXPECT_THAT(client->Await<wire::Leases>().workers, IsEmpty());
}

TEST_F(CoordinatorTest, AnAddressInUseIsAnErrorThatNamesIt) {
  options_.listen = "tcp://127.0.0.1:0";
  StartCoordinator();
  auto reactor = std::move(net::Reactor::Make("second")).value();
  CoordinatorOptions second = options_;
  second.listen = coordinator_->endpoint();
  const auto made = Coordinator::Make(*reactor, second);
  EXPECT_EQ(made.status().code(), Code::kUnavailable);
  EXPECT_THAT(made.status().message(), HasSubstr(second.listen.substr(second.listen.rfind(':'))));
}

TEST_F(CoordinatorTest, AnAddressThatOtherHostsReachMustBeAllowed) {
  EXPECT_EQ(CoordinatorOptions().listen, "tcp://127.0.0.1:7070");
  auto reactor = std::move(net::Reactor::Make("other")).value();
  CoordinatorOptions options = options_;
  options.listen = "tcp://0.0.0.0:0";
  const Status refused = Coordinator::Make(*reactor, options).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--insecure"));
  options.insecure = true;
  EXPECT_TRUE(Coordinator::Make(*reactor, options).ok());
}

TEST_F(CoordinatorTest, LoopbackInsteadOfWhatWasGivenIsWarnedOf) {
  auto reactor = std::move(net::Reactor::Make("other")).value();
  CoordinatorOptions options = options_;
  options.insecure = true;
  const auto log_of = [&](const std::string& listen) {
    options.listen = listen;
    testing::internal::CaptureStderr();
    EXPECT_TRUE(Coordinator::Make(*reactor, options).ok());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of("tcp://127.1:0"), HasSubstr("tcp://0.0.0.0:PORT"));
  EXPECT_THAT(log_of("tcp://127.0.0.1:0"), testing::Not(HasSubstr("tcp://0.0.0.0:PORT")));
}

TEST_F(CoordinatorTest, UnknownPolicyAndPoolAreErrorsThatListTheKnownOnes) {
  auto reactor = std::move(net::Reactor::Make("other")).value();
  CoordinatorOptions options = options_;
  options.policy = "random";
  EXPECT_THAT(Coordinator::Make(*reactor, options).status().message(),
              AllOf(HasSubstr("no policy named random"), HasSubstr("fifo")));
  options.policy = "fifo";
  options.pools = {{.kind = "cloud"}};
  EXPECT_THAT(Coordinator::Make(*reactor, options).status().message(), HasSubstr("static"));
}

}  // namespace
}  // namespace headrace::coordinator
