#include <gtest/gtest.h>

#include "coordinator/policy/core/divide.h"
#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

TEST(Fifo, TheEarlyJobGetsAllItNeedsTheLateOneTheRest) {
  Snapshot s = Cluster(5);
  AddJobView(s, 300, 0.01);  // 3 cores
  AddJobView(s, 300, 0.01);
  const Allocation a = DecideWith("fifo", s);
  EXPECT_DOUBLE_EQ(a.jobs[0].cores, 3);
  EXPECT_DOUBLE_EQ(a.jobs[1].cores, 2);
  EXPECT_DOUBLE_EQ(a.jobs[1].rate, 200);
}

TEST(Fifo, WhatNobodyNeedsStaysIdleButForAHeadroom) {
  Snapshot s = Cluster(8);
  AddJobView(s, 300, 0.01);
  EXPECT_DOUBLE_EQ(DecideWith("fifo", s).jobs[0].cores, 3.3);
  s.jobs[0].most_cores = 3;
  EXPECT_DOUBLE_EQ(DecideWith("fifo", s).jobs[0].cores, 3);
}

TEST(Fifo, LateJobsKeepTheirFloor) {
  // Each asks for 4 cores: 0.2 are the floor of each, and the first gets the rest.
  Snapshot s = Cluster(4);
  for (int i = 0; i < 3; ++i) AddJobView(s, 400, 0.01);
  const Allocation a = DecideWith("fifo", s);
  EXPECT_NEAR(a.jobs[0].cores, 3.6, 1e-12);
  EXPECT_NEAR(a.jobs[1].cores, 0.2, 1e-12);
  EXPECT_NEAR(a.jobs[2].cores, 0.2, 1e-12);
}

TEST(Fifo, TheSourceIsDividedInTheSameOrder) {
  // 10 kB a sample: the first job takes 1 of 1.5 MB/s. The second gets half of its wish, and then
  // needs half of the cores.
  Snapshot s = Cluster(8);
  s.supply.source_rate = 1.5e6;
  AddJobView(s, 100, 0.01).terms.miss_bytes = 1e4;
  AddJobView(s, 100, 0.01).terms.miss_bytes = 1e4;
  const Allocation a = DecideWith("fifo", s);
  EXPECT_NEAR(a.jobs[0].rate, 100, 1e-9);
  EXPECT_NEAR(a.jobs[1].rate, 50, 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 0.5 * (1 + kHeadroom), 1e-9);
  EXPECT_NEAR(a.jobs[1].source_rate, 5e5, 1e-3);
}

TEST(Fifo, ASourceThatIsNotScarceIsSpread) {
  Snapshot s = Cluster(8);
  s.supply.source_rate = 4e6;
  AddJobView(s, 100, 0.01).terms.miss_bytes = 1e4;
  AddJobView(s, 300, 0.01).terms.miss_bytes = 0;
  const Allocation a = DecideWith("fifo", s);
  EXPECT_DOUBLE_EQ(a.jobs[0].source_rate, 4e6);
  EXPECT_DOUBLE_EQ(a.jobs[1].source_rate, 0);
}

}  // namespace
}  // namespace headrace::coordinator
