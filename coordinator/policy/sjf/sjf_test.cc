#include <gtest/gtest.h>

#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

TEST(Sjf, TheShorterJobComesFirst) {
  // 9,000 samples at 300/s are 30 s, 4,000 at 400/s are 10 s.
  Snapshot s = Cluster(5);
  AddJobView(s, 300, 0.01).remaining_samples = 9000;
  AddJobView(s, 400, 0.01).remaining_samples = 4000;
  const Allocation a = DecideWith("sjf", s);
  EXPECT_NEAR(a.jobs[1].cores, 4, 1e-12);
  EXPECT_NEAR(a.jobs[0].cores, 1, 1e-12);
}

TEST(Sjf, AJobThatCannotBeFedIsNotShort) {
  // At full speed 10 s against 20 s; with 2 of the 4 cores each 100 s against 20 s.
  Snapshot s = Cluster(4);
  AddJobView(s, 2000, 0.01).remaining_samples = 20'000;
  AddJobView(s, 200, 0.01).remaining_samples = 4000;
  const Allocation a = DecideWith("sjf", s);
  EXPECT_NEAR(a.jobs[1].cores, 2, 1e-12);
}

TEST(Sjf, WhatIsNotKnownComesLast) {
  Snapshot s = Cluster(3);
  AddJobView(s, 300, 0.01);
  AddJobView(s, 300, 0.01).remaining_samples = 1e9;
  const Allocation a = DecideWith("sjf", s);
  EXPECT_GT(a.jobs[1].cores, a.jobs[0].cores);
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
