#include "coordinator/cluster_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/step_test_util.h"

// `headrace drain`, `headrace jobs cancel|resume|priority|--all`: from the order to what peers are told.
namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ClusterOrdersTest : public ::testing::Test {
 protected:
  using Action = wire::ClusterAction;

  wire::ClusterOrdered Drain(std::vector<WorkerId> workers) {
    return cluster_.Ask<wire::ClusterOrdered>(
        wire::ClusterOrder{7, Action::kDrain, std::move(workers)});
  }
  wire::ClusterOrdered Order(Action action, JobId job, std::int32_t priority = 0) {
    return cluster_.Ask<wire::ClusterOrdered>(wire::ClusterOrder{7, action, {}, job, priority});
  }
  wire::JobStatus Shown(JobId job) {
    for (const wire::JobStatus& each : cluster_.Status().jobs) {
      if (each.job == job) return each;
    }
    ADD_FAILURE() << "no job " << job.value;
    return {};
  }
  std::vector<wire::EndedJob> Ended() {
    return cluster_.Ask<wire::ClusterStatus>(wire::StatusQuery{.request = 1, .ended = true}).ended;
  }
  wire::JobOpened OpenRank(const std::string& token, const std::string& group, std::int32_t rank) {
    wire::OpenJob open;
    open.token = token;
    open.name = "train.py";
    open.host = {"node1", "boot1", 1000, 5};
    open.version = "0.1.0";
    open.group = group;
    open.rank = rank;
    return cluster_.Ask<wire::JobOpened>(open);
  }
  void Period() {
    cluster_.Advance(cluster_.rules.heartbeat);
    cluster_.Tick();
  }

  Cluster cluster_;
};

TEST_F(ClusterOrdersTest, WorkersThatAreDrainedLeaveAndAreToldAtOnce) {
  const auto a = cluster_.Register("worker-a").worker, b = cluster_.Register("worker-b").worker;
  const auto job = cluster_.OpenJob("job-token-1");
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(2));
  const wire::ClusterOrdered done = Drain({a});
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  EXPECT_EQ(done.request, 7U);
  EXPECT_EQ(done.text, "1 worker leaves when what was asked of them is done");
  bool told = false;
  for (const Push& push : cluster_.last.pushes) {
    const auto* directive = std::get_if<wire::WorkerDirective>(&push.body);
    told = told || (directive != nullptr && directive->drain && push.to == decltype(push.to)(a));
  }
  EXPECT_TRUE(told);
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(1));
  const auto status = cluster_.Status();
  EXPECT_EQ(status.workers[0].state, "draining");
  EXPECT_EQ(status.workers[0].reason, "by order");
  EXPECT_EQ(status.workers[1].state, "ready");
  EXPECT_THAT(Drain({a, b}).text, HasSubstr("; 1 did already"));
}

TEST_F(ClusterOrdersTest, AnOrderWithAnUnknownWorkerDrainsNone) {
  const auto a = cluster_.Register("worker-a").worker;
  const wire::ClusterOrdered refused = Drain({a, WorkerId(99)});
  EXPECT_EQ(refused.status.code(), Code::kNotFound);
  EXPECT_THAT(refused.status.message(), HasSubstr("no worker 99"));
  EXPECT_THAT(refused.text, IsEmpty());
  EXPECT_THAT(cluster_.last.updates, IsEmpty());
  EXPECT_EQ(cluster_.Status().workers[0].state, "ready");
  EXPECT_EQ(Drain({}).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(Order(Action::kUnknown, JobId(1)).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(Order(Action::kCancel, JobId(1)).status.code(), Code::kNotFound);
}

TEST_F(ClusterOrdersTest, ACancelledJobHasNoWorkerUntilItIsResumed) {
  cluster_.Register("worker-a");
  const auto job = cluster_.OpenJob("job-token-1"), other = cluster_.OpenJob("job-token-2");
  EXPECT_THAT(cluster_.Heartbeat(job).workers, SizeIs(1));
  EXPECT_THAT(Order(Action::kCancel, job.job).text, HasSubstr("gets no worker any more"));
  EXPECT_THAT(cluster_.Heartbeat(job).workers, IsEmpty());
  EXPECT_THAT(cluster_.Heartbeat(other).workers, SizeIs(1));
  EXPECT_EQ(Shown(job.job).state, "waiting: cancelled by order");
  EXPECT_EQ(Shown(job.job).granted_millicores, 0U);
  // Periods, another worker and a new connection of the program change nothing.
  Period();
  cluster_.Register("worker-b");
  cluster_.OpenJob("job-token-1");
  EXPECT_THAT(cluster_.Heartbeat(job).workers, IsEmpty());
  EXPECT_TRUE(Order(Action::kCancel, job.job).status.ok());
  EXPECT_THAT(Cluster::DurableOf(cluster_.last), IsEmpty());
  EXPECT_THAT(Order(Action::kResume, job.job).text, HasSubstr("gets workers again"));
  EXPECT_THAT(cluster_.Heartbeat(job).workers, Not(IsEmpty()));
  EXPECT_EQ(Shown(job.job).state, "running");
}

TEST_F(ClusterOrdersTest, WhatConcernsAJobConcernsItsRanks) {
  const auto a = OpenRank("job-token-1", "run", 0), b = OpenRank("job-token-2", "run", 1);
  const auto other = OpenRank("job-token-3", "another", 0);
  EXPECT_THAT(Order(Action::kSetPriority, b.job, 3).text, HasSubstr("2 ranks, has priority 3"));
  EXPECT_EQ(Shown(a.job).priority, 3);
  EXPECT_EQ(Shown(b.job).priority, 3);
  EXPECT_EQ(Shown(other.job).priority, 0);
  EXPECT_TRUE(Order(Action::kCancel, a.job).status.ok());
  EXPECT_EQ(Shown(b.job).state, "waiting: cancelled by order");
  EXPECT_EQ(Shown(b.job).priority, 3);  // a cancel does not undo it
  EXPECT_NE(Shown(other.job).state, "waiting: cancelled by order");
}

TEST_F(ClusterOrdersTest, APriorityTakesCoresFromOthers) {
  cluster_.Register("worker-a");
  const auto a = cluster_.OpenJob("job-token-1"), b = cluster_.OpenJob("job-token-2");
  ASSERT_EQ(Shown(a.job).granted_millicores, Shown(b.job).granted_millicores);
  Order(Action::kSetPriority, b.job, 1);
  EXPECT_LT(Shown(a.job).granted_millicores, Shown(b.job).granted_millicores);
}

TEST_F(ClusterOrdersTest, JobsThatEndedAreToldWithWhatTheyHad) {
  EXPECT_THAT(Ended(), IsEmpty());
  const auto job = cluster_.OpenJob("job-token-1"), lost = cluster_.OpenJob("job-token-2");
  wire::OpenSession open;
  open.job = job.job;
  open.session = SessionId(9);
  open.plan = SmallPlan();
  ASSERT_TRUE(cluster_.Ask<wire::SessionOpened>(open).status.ok());
  wire::SessionLoad load{.session = SessionId(9)};
  load.samples = 100;
  load.batches = 10;
  load.stall_ns = load.wait_source_ns = 2'000'000'000;
  load.step_ns = 6'000'000'000;
  cluster_.Ask<wire::Leases>(wire::ConsumerHeartbeat{1, job.job, job.consumer, {load}, {}});
  EXPECT_EQ(Shown(job.job).totals.samples, 100U);
  cluster_.Advance(std::chrono::seconds(5));
  cluster_.Send(wire::CloseJob{.job = job.job});
  ASSERT_THAT(Ended(), SizeIs(1));
  const wire::EndedJob ended = Ended()[0];
  EXPECT_EQ(ended.job, job.job);
  EXPECT_EQ(ended.name, "train.py");
  EXPECT_EQ(ended.end, "ended");
  EXPECT_EQ(ended.ended_ms - ended.opened_ms, 5000);
  EXPECT_EQ(ended.totals.samples, 100U);
  EXPECT_EQ(ended.totals.stall_source_ns, 2'000'000'000U);
  EXPECT_EQ(ended.totals.stall_compute_ns, 0U);
  EXPECT_EQ(ended.totals.step_ns, 6'000'000'000U);
  EXPECT_THAT(cluster_.Status().ended, IsEmpty());  // only who asks gets them
  Order(Action::kCancel, lost.job);
  for (const Duration silence : {cluster_.rules.job_lost_after, cluster_.rules.forget_after}) {
    cluster_.Advance(silence);
    cluster_.Tick();
  }
  ASSERT_THAT(Ended(), SizeIs(2));
  EXPECT_EQ(Ended()[0].job, lost.job);  // the last one first
  EXPECT_EQ(Ended()[0].end, "lost, cancelled");
}

}  // namespace
}  // namespace headrace::coordinator
