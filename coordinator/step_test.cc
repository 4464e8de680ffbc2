#include "coordinator/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "coordinator/step_test_util.h"

// The transition table of step.h, row by row.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StepTest : public testing::Test {
 protected:
  Cluster cluster_;
};

TEST_F(StepTest, OpenJobAgainIsTheSameJob) {
  const auto first = cluster_.OpenJob("token-aaaa");
  const auto second = cluster_.OpenJob("token-aaaa");
  EXPECT_TRUE(first.status.ok());
  EXPECT_EQ(first.job, second.job);
  EXPECT_EQ(first.consumer, second.consumer);
  EXPECT_THAT(cluster_.state.jobs(), SizeIs(1));
  EXPECT_THAT(cluster_.DurableOf(cluster_.last), IsEmpty()) << "a repeat changes nothing";
}

TEST_F(StepTest, AWorkerThatRegistersIsLeasedAndBothSidesAreTold) {
  const JobId job = cluster_.OpenJob("token-aaaa").job;
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  EXPECT_THAT(cluster_.state.FindJob(job)->leases, ElementsAre(worker));
  ASSERT_THAT(cluster_.last.pushes, SizeIs(2));
  EXPECT_THAT(std::get<wire::WorkerDirective>(cluster_.last.pushes[0].body).jobs, ElementsAre(job));
  const auto& leases = std::get<wire::Leases>(cluster_.last.pushes[1].body);
  EXPECT_EQ(leases.request, 0U);
  EXPECT_EQ(leases.generation, 1U);
  ASSERT_THAT(leases.workers, SizeIs(1));
  EXPECT_EQ(leases.workers[0].worker, worker);
  EXPECT_THAT(leases.workers[0].endpoints, ElementsAre("tcp://10.0.0.1:7000"));
}

TEST_F(StepTest, AWorkerOnLoopbackIsLeasedToItsOwnHostAlone) {
  wire::RegisterWorker m;
  m.token = "worker-aaaa";
  m.info.endpoints = {"tcp://127.0.1.1:7071", "ipc:///run/headrace/w1.data"};
  m.info.host = {"head", "boot-head", 1000, 6};
  m.info.cores = 4;
  m.info.version = cluster_.version;
  const WorkerId worker = cluster_.Ask<wire::WorkerRegistered>(m).worker;
  const wire::JobOpened job = cluster_.OpenJob("token-aaaa");  // on node1
  EXPECT_THAT(cluster_.Heartbeat(job).workers, IsEmpty());
  cluster_.rules.plan.lease_all = true;
  EXPECT_THAT(cluster_.Heartbeat(cluster_.OpenJob("token-bbbb")).workers, IsEmpty());
  m.info.endpoints.emplace_back("tcp://10.0.0.2:7071");
  EXPECT_EQ(cluster_.Ask<wire::WorkerRegistered>(m).worker, worker);
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(1));
}

TEST_F(StepTest, AWorkerSaysACredibleNumberOfCores) {
  wire::RegisterWorker m;
  m.token = "worker-aaaa";
  m.info.endpoints = {"tcp://10.0.0.1:7000"};
  m.info.version = cluster_.version;
  for (const std::int32_t cores : {std::numeric_limits<std::int32_t>::min(), 0, 65537,
                                   std::numeric_limits<std::int32_t>::max()}) {
    m.info.cores = cores;
    EXPECT_EQ(cluster_.Ask<wire::WorkerRegistered>(m).status.code(), Code::kInvalidArgument);
  }
  m.info.cores = 65536;
  EXPECT_TRUE(cluster_.Ask<wire::WorkerRegistered>(m).status.ok());
}

TEST_F(StepTest, ALocalWorkerIsForHostsThatHaveNone) {
  wire::RegisterWorker local;
  local.token = "local-aaaa";
  local.info.endpoints = {"ipc:///run/headrace/w1.data"};
  local.info.host = {"node1", "boot1", 1000, 9};
  local.info.version = cluster_.version;
  local.info.local = true;
  const WorkerId pool = cluster_.Register("worker-aaaa").worker;
  EXPECT_EQ(cluster_.Ask<wire::WorkerRegistered>(local).status.code(), Code::kInfeasible);
  local.info.host.hostname = "node2";
  EXPECT_TRUE(cluster_.Ask<wire::WorkerRegistered>(local).status.ok());
  local.info.host.hostname = "node1";
  local.token = "local-bbbb";
  cluster_.Send(wire::LeaveWorker{pool});
  EXPECT_TRUE(cluster_.Ask<wire::WorkerRegistered>(local).status.ok());
  // It stays when it asks again, even though another worker is there now.
  cluster_.Register("worker-cccc");
  EXPECT_TRUE(cluster_.Ask<wire::WorkerRegistered>(local).status.ok());
}

TEST_F(StepTest, RegisterAgainIsTheSameWorker) {
  const WorkerId first = cluster_.Register("worker-aaaa").worker;
  EXPECT_EQ(cluster_.Register("worker-aaaa").worker, first);
  EXPECT_THAT(cluster_.DurableOf(cluster_.last), IsEmpty());
}

TEST_F(StepTest, ASilentWorkerIsLostAndComesBackWithItsHeartbeat) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Advance(seconds(4));
  cluster_.Heartbeat(job);
  cluster_.Tick();
  EXPECT_THAT(cluster_.state.FindJob(job.job)->leases, ElementsAre(worker));
  cluster_.Advance(seconds(1));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kLost);
  EXPECT_EQ(cluster_.Heartbeat(job).generation, 2U);
  EXPECT_THAT(cluster_.Heartbeat(job).workers, IsEmpty());
  ASSERT_TRUE(cluster_.Heartbeat(worker).status.ok());
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kReady);
  EXPECT_EQ(cluster_.Heartbeat(job).generation, 3U);
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(1));
}

// Stopped, or moved to another machine: messages sent meanwhile follow the first tick.
TEST_F(StepTest, ACoordinatorThatWasAwayItselfTakesNobodyForLost) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Tick();
  cluster_.Advance(std::chrono::minutes(11));
  cluster_.Take(Tick{});
  EXPECT_THAT(cluster_.state.FindJob(job.job)->leases, ElementsAre(worker));
  EXPECT_EQ(cluster_.state.FindJob(job.job)->phase, Job::Phase::kRunning);
  // A peer that stays silent is lost in due time.
  cluster_.Heartbeat(job);
  cluster_.Advance(seconds(4));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kReady);
  cluster_.Advance(seconds(1));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kLost);
}

TEST_F(StepTest, ASuspectedWorkerIsVerifiedAndLostSooner) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Advance(seconds(1));
  cluster_.Heartbeat(job, {worker, WorkerId(99)});
  ASSERT_THAT(cluster_.last.verify, SizeIs(1));
  EXPECT_EQ(cluster_.last.verify[0].worker, worker);
  cluster_.Advance(seconds(1));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kLost);
}

TEST_F(StepTest, ASuspectedWorkerThatStillBeatsStays) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Advance(seconds(1));
  cluster_.Heartbeat(job, {worker});
  cluster_.Advance(seconds(1));
  cluster_.Heartbeat(worker);
  cluster_.Advance(seconds(1));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker)->phase, Worker::Phase::kReady);
}

TEST_F(StepTest, AnEndedProcessIsLostAtOnceWithItsCpu) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Take(WorkerEnded{worker, 3.5});
  EXPECT_THAT(cluster_.state.FindJob(job.job)->leases, IsEmpty());
  EXPECT_DOUBLE_EQ(cluster_.state.FindWorker(worker)->last.cpu_seconds, 3.5);
  cluster_.Advance(std::chrono::minutes(10));
  cluster_.Tick();
  EXPECT_EQ(cluster_.state.FindWorker(worker), nullptr);
  EXPECT_DOUBLE_EQ(cluster_.state.ended_cpu_seconds(), 3.5);
}

TEST_F(StepTest, ASilentJobIsLostItsWorkersGoToOthersAndItMayComeBack) {
  const auto early = cluster_.OpenJob("token-aaaa", 1);
  const auto late = cluster_.OpenJob("token-bbbb", 1);
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  for (int i = 0; i < 10; ++i) {
    cluster_.Advance(seconds(1));
    cluster_.Heartbeat(late);
    cluster_.Heartbeat(worker);
    cluster_.Tick();
  }
  EXPECT_EQ(cluster_.state.FindJob(early.job)->phase, Job::Phase::kLost);
  EXPECT_THAT(cluster_.state.FindJob(early.job)->leases, IsEmpty());
  EXPECT_THAT(cluster_.state.FindWorker(worker)->jobs, ElementsAre(late.job));
  EXPECT_THAT(cluster_.Heartbeat(early).workers, SizeIs(1));
  EXPECT_EQ(cluster_.state.FindJob(early.job)->phase, Job::Phase::kRunning);
}

TEST_F(StepTest, AForgottenJobIsToldToOpenAgain) {
  const auto job = cluster_.OpenJob("token-aaaa");
  cluster_.Advance(seconds(10));
  cluster_.Tick();
  cluster_.Advance(std::chrono::minutes(10));
  cluster_.Tick();
  EXPECT_THAT(cluster_.state.jobs(), IsEmpty());
  const wire::Leases refused = cluster_.Heartbeat(job);
  EXPECT_EQ(refused.status.code(), Code::kNotFound);
  EXPECT_THAT(refused.status.message(), HasSubstr("introduce yourself again"));
  EXPECT_NE(cluster_.OpenJob("token-aaaa").job, job.job) << "ids are not reused";
}

TEST_F(StepTest, AnUnknownWorkerIsToldToRegister) {
  const wire::WorkerDirective refused = cluster_.Heartbeat(WorkerId(8));
  EXPECT_EQ(refused.status.code(), Code::kNotFound);
  EXPECT_THAT(refused.status.message(), HasSubstr("introduce yourself again"));
}

TEST_F(StepTest, ADrainedWorkerLosesItsLeasesAndLeaves) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Take(Drain{worker});
  EXPECT_THAT(cluster_.state.FindJob(job.job)->leases, IsEmpty());
  EXPECT_TRUE(cluster_.Heartbeat(worker).drain);
  cluster_.Send(wire::LeaveWorker{worker});
  EXPECT_EQ(cluster_.state.FindWorker(worker), nullptr);
}

TEST_F(StepTest, AWorkerThatLeavesKeepsReportingUntilItSaysSoAgain) {
  const auto job = cluster_.OpenJob("token-aaaa");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  cluster_.Send(wire::LeaveWorker{worker});
  EXPECT_THAT(cluster_.state.FindJob(job.job)->leases, IsEmpty());
  ASSERT_NE(cluster_.state.FindWorker(worker), nullptr);
  EXPECT_TRUE(cluster_.state.FindWorker(worker)->draining);
  wire::WorkerHeartbeat last;
  last.worker = worker;
  last.cpu_seconds = 7.5;
  cluster_.Send(last);
  cluster_.Send(wire::LeaveWorker{worker});
  EXPECT_EQ(cluster_.state.FindWorker(worker), nullptr);
  EXPECT_EQ(cluster_.state.ended_cpu_seconds(), 7.5);
}

TEST_F(StepTest, CloseJobFreesAtOnceAndMayBeRepeated) {
  const auto first = cluster_.OpenJob("token-aaaa");
  const auto second = cluster_.OpenJob("token-bbbb");
  cluster_.Register("worker-aaaa");
  cluster_.Register("worker-bbbb");
  EXPECT_NEAR(cluster_.state.FindJob(second.job)->granted_cores(), 4, 0.1);
  cluster_.Send(wire::CloseJob{first.job});
  EXPECT_THAT(cluster_.state.FindJob(second.job)->leases, SizeIs(2));
  EXPECT_EQ(cluster_.state.FindJob(second.job)->granted_cores(), 8);
  cluster_.Send(wire::CloseJob{first.job});
  EXPECT_THAT(cluster_.last.updates, IsEmpty());
}

TEST_F(StepTest, OpenSessionAgainIsTheSameSplitAnotherPlanIsRefused) {
  const auto job = cluster_.OpenJob("token-aaaa");
  wire::OpenSession open{5, job.job, SessionId(42), SmallPlan()};
  const auto first = cluster_.Ask<wire::SessionOpened>(open);
  ASSERT_TRUE(first.status.ok()) << first.status.ToString();
  EXPECT_EQ(first.request, 5U);
  EXPECT_EQ(first.split.worker_nodes, 1);
  EXPECT_EQ(cluster_.Ask<wire::SessionOpened>(open).split, first.split);
  open.plan.lanes = 3;
  EXPECT_THAT(cluster_.Ask<wire::SessionOpened>(open).status.message(),
              HasSubstr("open with another plan"));
  cluster_.Send(wire::CloseSession{job.job, SessionId(42)});
  EXPECT_THAT(cluster_.state.FindJob(job.job)->sessions, IsEmpty());
}

TEST_F(StepTest, OpenSessionOfAnUnknownJobOrABadPlanIsRefused) {
  wire::OpenSession open{1, JobId(5), SessionId(1), SmallPlan()};
  EXPECT_EQ(cluster_.Ask<wire::SessionOpened>(open).status.code(), Code::kNotFound);
  open.job = cluster_.OpenJob("token-aaaa").job;
  open.plan.fields.clear();
  EXPECT_EQ(cluster_.Ask<wire::SessionOpened>(open).status.code(), Code::kInvalidArgument);
}

TEST_F(StepTest, BadRequestsAreRefusedWithReasons) {
  EXPECT_THAT(cluster_.OpenJob("short").status.message(), HasSubstr("token is too short"));
  EXPECT_THAT(cluster_.OpenJob("token-aaaa", -1).status.message(), HasSubstr("negative"));
  EXPECT_THAT(cluster_.OpenJob(std::string(5000, 'x')).status.message(), HasSubstr("5000 bytes"));
  EXPECT_THAT(cluster_.Register("worker-aaaa", {}).status.message(), HasSubstr("endpoints"));
  wire::OpenJob open;
  open.token = "token-aaaa";
  open.tenant = std::string(5000, 'x');
  EXPECT_THAT(cluster_.Ask<wire::JobOpened>(open).status.message(), HasSubstr("tenant of 5000"));
  open.tenant.clear();
  open.group = std::string(5000, 'x');
  EXPECT_THAT(cluster_.Ask<wire::JobOpened>(open).status.message(), HasSubstr("group of 5000"));
  EXPECT_THAT(cluster_.state.jobs(), IsEmpty());
  EXPECT_THAT(cluster_.state.workers(), IsEmpty());
}

TEST_F(StepTest, AnotherReleaseIsServedWithAWarning) {
  cluster_.version = "0.2.0";
  EXPECT_TRUE(cluster_.OpenJob("token-aaaa").status.ok());
  ASSERT_THAT(cluster_.last.warnings, SizeIs(1));
  EXPECT_THAT(cluster_.last.warnings[0], HasSubstr("release 0.2.0"));
  cluster_.OpenJob("token-aaaa");
  EXPECT_THAT(cluster_.last.warnings, IsEmpty()) << "once";
}

TEST_F(StepTest, StatusShowsJobsWorkersLoadAndCpu) {
  const auto job = cluster_.OpenJob("token-aaaa");
  cluster_.Ask<wire::SessionOpened>(wire::OpenSession{1, job.job, SessionId(42), SmallPlan()});
  EXPECT_EQ(cluster_.Status().jobs.at(0).state, "waiting: no worker");
  const WorkerId worker = cluster_.Register("worker-aaaa").worker;
  wire::WorkerHeartbeat beat;
  beat.worker = worker;
  beat.cpu_seconds = 1.5;
  beat.samples = 10;
  cluster_.Send(beat);
  wire::ConsumerHeartbeat load{1, job.job, job.consumer, {}, {}};
  load.sessions = {{SessionId(42), 3, 30, 5, 6, 7}, {SessionId(43), 1, 1, 1, 1, 1}};
  cluster_.Send(load);
  cluster_.Advance(std::chrono::milliseconds(250));
  const wire::ClusterStatus status = cluster_.Status();
  EXPECT_EQ(status.version, "0.1.0");
  EXPECT_DOUBLE_EQ(status.coordinator_cpu_seconds, 0.25);
  EXPECT_EQ(status.desired_workers, 3U);
  ASSERT_THAT(status.jobs, SizeIs(1));
  EXPECT_EQ(status.jobs[0].state, "running");
  EXPECT_THAT(status.jobs[0].workers, ElementsAre(worker));
  ASSERT_THAT(status.jobs[0].sessions, SizeIs(1)) << "a session that is not open is not shown";
  EXPECT_EQ(status.jobs[0].sessions[0].samples, 30U);
  ASSERT_THAT(status.workers, SizeIs(1));
  EXPECT_EQ(status.workers[0].state, "ready");
  EXPECT_EQ(status.workers[0].silent_ms, 250);
  EXPECT_DOUBLE_EQ(status.workers[0].last.cpu_seconds, 1.5);
  EXPECT_THAT(status.workers[0].last.jobs, ElementsAre(job.job));
}

// A plan of a large cluster takes tens of milliseconds, and after a restart all peers come at once.
TEST_F(StepTest, ALargeClusterIsPlannedOnceAPeriodHoweverManyCome) {
  for (int i = 0; i < 1001; ++i) {
    AddWorker add{"worker-" + std::to_string(i), {}};
    add.info.worker = cluster_.state.next_worker();
    add.info.cores = 4;
    add.info.host.hostname = "host" + std::to_string(i);
    ASSERT_TRUE(cluster_.state.Apply(add).ok());
    ASSERT_TRUE(cluster_.state.Apply(SeeWorker{add.info.worker, cluster_.clock.Now()}).ok());
  }
  cluster_.Tick();
  const auto planned = [&] { return cluster_.last.demand_cores.has_value(); };
  const auto job = cluster_.OpenJob("token-aaaa");
  EXPECT_TRUE(job.status.ok());
  EXPECT_FALSE(planned());
  cluster_.Register("worker-aaaa");
  EXPECT_FALSE(planned());
  cluster_.Send(wire::LeaveWorker{WorkerId(1)});
  EXPECT_FALSE(planned());
  EXPECT_TRUE(cluster_.state.FindWorker(WorkerId(1))->draining);
  EXPECT_THAT(cluster_.Heartbeat(job).workers, IsEmpty());
  cluster_.Advance(cluster_.rules.heartbeat);
  cluster_.Tick();
  EXPECT_TRUE(planned());
  EXPECT_EQ(cluster_.last.pushes.size(), 6U) << "5 workers, for 16 cores and a tenth, and the job";
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(5));
  cluster_.Send(wire::CloseJob{job.job});
  EXPECT_FALSE(planned());
  EXPECT_EQ(cluster_.state.FindJob(job.job), nullptr);
}

}  // namespace
}  // namespace headrace::coordinator
