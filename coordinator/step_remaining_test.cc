#include <gtest/gtest.h>

#include <string>

#include "coordinator/step_test_util.h"

// What trainers will still take, from heartbeats to the order of jobs and to what people see.
namespace headrace::coordinator {
namespace {

class RemainingWork : public testing::Test {
 protected:
  RemainingWork() {
    RegisterPolicies(policies_);
    cluster_.rules.plan.policy = policies_.Find("sjf");
  }

  struct Trainer {
    wire::JobOpened opened;
    wire::SessionLoad load;
  };
  void AddWorker() {
    wire::RegisterWorker m;
    m.token = "token of a worker";
    m.info.endpoints = {"tcp://10.0.0.1:7000"};
    m.info.host = {"far", "far", 1000, 6};
    m.info.cores = 4;
    m.info.version = cluster_.version;
    worker_ = cluster_.Ask<wire::WorkerRegistered>(m).worker;
  }
  Trainer Open(std::int64_t number, std::int64_t remaining) {
    wire::OpenJob open;
    open.token = "token of job " + std::to_string(number);
    open.host = {"trainer", "trainer", 1000, 5};
    open.version = cluster_.version;
    Trainer trainer{cluster_.Ask<wire::JobOpened>(open), {}};
    trainer.load.session = SessionId(number);
    trainer.load.remaining_samples = remaining;
    cluster_.Send(wire::OpenSession{2, trainer.opened.job, SessionId(number), SmallPlan()});
    return trainer;
  }
  // A second of a trainer that takes 800 samples/s of 10 ms when they are there: more than there is.
  void Train(Trainer& trainer) {
    wire::SessionLoad& load = trainer.load;
    load.samples += 100;
    load.batches += 10;
    load.miss_samples += 100;
    load.step_ns += 125'000'000;
    load.stall_ns += 875'000'000;
    load.wait_compute_ns += 875'000'000;
    load.miss_cpu_ns += 1'000'000'000;
    if (load.remaining_samples >= 0) load.remaining_samples -= 100;
    cluster_.Send(wire::ConsumerHeartbeat{1, trainer.opened.job, trainer.opened.consumer, {load}});
  }
  void Second() {
    cluster_.Heartbeat(worker_);
    cluster_.Advance(std::chrono::seconds(1));
    cluster_.Tick();
  }
  double Granted(const Trainer& trainer) const {
    return cluster_.state.FindJob(trainer.opened.job)->granted_cores();
  }

  PolicyRegistry policies_;
  Cluster cluster_;
  WorkerId worker_;
};

TEST_F(RemainingWork, OrdersJobsAndNotTheirArrival) {
  AddWorker();
  Trainer first = Open(1, 1'000'000), second = Open(2, 10'000);
  for (int i = 0; i < 5; ++i) {
    Train(first);
    Train(second);
    Second();
  }
  EXPECT_GT(Granted(second), 1.5 * Granted(first));
  // The first one has less to do now: it said so.
  first.load.remaining_samples = 1'000;
  for (int i = 0; i < 3; ++i) {
    Train(first);
    Train(second);
    Second();
  }
  EXPECT_GT(Granted(first), 1.5 * Granted(second));
}

TEST_F(RemainingWork, IsShownWhereItIsKnown) {
  AddWorker();
  Trainer known = Open(1, 1'000), other = Open(2, -1);
  Train(known);
  Train(other);
  Second();
  const wire::ClusterStatus status = cluster_.Status();
  EXPECT_EQ(status.jobs[0].remaining_samples, 900);
  EXPECT_EQ(status.jobs[1].remaining_samples, -1);
}

// It is in each heartbeat: a coordinator that began again needs no journal of it.
TEST_F(RemainingWork, IsKnownAgainAfterTheNextHeartbeat) {
  AddWorker();
  Trainer trainer = Open(1, 1'000);
  Train(trainer);
  State again;
  for (const Update& update : cluster_.state.Snapshot()) ASSERT_TRUE(again.Apply(update).ok());
  EXPECT_EQ(again.FindJob(trainer.opened.job)->meter.remaining(), kUnlimited);
  ASSERT_TRUE(again.Apply(SeeConsumer{trainer.opened.job, {}, {trainer.load}, true}).ok());
  EXPECT_EQ(again.FindJob(trainer.opened.job)->meter.remaining(), 900);
}

}  // namespace
}  // namespace headrace::coordinator
