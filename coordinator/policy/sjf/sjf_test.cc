#include <gtest/gtest.h>

#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

// One GPU, and two jobs that wait for it.
Snapshot OneGpu(double cores) {
  Snapshot s = Cluster(cores);
  s.supply.gpus = 1;
  s.jobs.reserve(2);
  return s;
}
JobView& AddWaiting(Snapshot& s, double rate, double cost, double remaining) {
  JobView& job = AddJobView(s, rate, cost);
  job.running = false;
  job.remaining_samples = remaining;
  return job;
}

TEST(Sjf, TheShorterJobGetsItsGpuFirst) {
  // 9,000 samples at 300/s are 30 s, 4,000 at 400/s are 10 s.
  Snapshot s = OneGpu(5);
  AddWaiting(s, 300, 0.01, 9000);
  AddWaiting(s, 400, 0.01, 4000);
  EXPECT_TRUE(DecideWith("sjf", s).jobs[1].admitted);
}

TEST(Sjf, AJobThatCannotBeFedIsNotShort) {
  // At full speed 10 s against 20 s; with the 4 cores 50 s against 20 s.
  Snapshot s = OneGpu(4);
  AddWaiting(s, 2000, 0.01, 20'000);
  AddWaiting(s, 200, 0.01, 4000);
  EXPECT_TRUE(DecideWith("sjf", s).jobs[1].admitted);
}

TEST(Sjf, WhatIsNotKnownComesLast) {
  Snapshot s = OneGpu(3);
  AddWaiting(s, 300, 0.01, kUnlimited);
  AddWaiting(s, 300, 0.01, 1e9);
  EXPECT_TRUE(DecideWith("sjf", s).jobs[1].admitted);
}

// 5 cores, of which each has 1.25 for sure. The rest goes as (GPUs / core-seconds left)^2: 90 against 40.
TEST(Sjf, CoresGoByTheWorkThatIsLeft) {
  Snapshot s = Cluster(5);
  AddJobView(s, 300, 0.01).remaining_samples = 9000;
  AddJobView(s, 400, 0.01).remaining_samples = 4000;
  const Allocation a = DecideWith("sjf", s);
  EXPECT_NEAR(a.jobs[0].cores, 1.25 + 2.5 / (1 + 2.25 * 2.25), 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 5 - a.jobs[0].cores, 1e-9);
}

TEST(Sjf, RunningJobsKeepTheirGpus) {
  Snapshot s = Cluster(3);
  s.supply.gpus = 1;
  AddJobView(s, 300, 0.01).remaining_samples = 1e9;
  JobView& shorter = AddJobView(s, 300, 0.01);
  shorter.remaining_samples = 1;
  shorter.running = false;
  const Allocation a = DecideWith("sjf", s);
  EXPECT_TRUE(a.jobs[0].admitted);
  EXPECT_FALSE(a.jobs[1].admitted);
}

}  // namespace
}  // namespace headrace::coordinator
