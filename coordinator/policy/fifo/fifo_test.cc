#include <gtest/gtest.h>

#include "coordinator/policy/core/divide.h"
#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

// Fair shares of 6 cores are 2. The first job leaves one of its own, which goes to the one that came a day
// before the other.
TEST(Fifo, WhatIsLeftOfFairSharesGoesToTheEarlyJob) {
  Snapshot s = Cluster(6);
  AddJobView(s, 100, 0.01);
  AddJobView(s, 400, 0.01);
  AddJobView(s, 400, 0.01).arrival_s = 86'400;
  const Allocation a = DecideWith("fifo", s);
  EXPECT_NEAR(a.jobs[0].cores, 1, 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 3, 1e-9);
  EXPECT_NEAR(a.jobs[2].cores, 2, 1e-9);
  // Beside one that came in the same minute it has half of it.
  s.jobs[2].arrival_s = s.jobs[1].arrival_s + 30;
  EXPECT_NEAR(DecideWith("fifo", s).jobs[1].cores, 2.5, 0.01);
}

TEST(Fifo, WhatNobodyNeedsStaysIdleButForAHeadroom) {
  Snapshot s = Cluster(8);
  AddJobView(s, 300, 0.01);
  EXPECT_DOUBLE_EQ(DecideWith("fifo", s).jobs[0].cores, 3.3);
  s.jobs[0].most_cores = 3;
  EXPECT_DOUBLE_EQ(DecideWith("fifo", s).jobs[0].cores, 3);
}

TEST(Fifo, LateJobsKeepTheirFloor) {
  // Each asks for 4 cores; a fair share is 4/3. With a floor of a tenth of it the first gets the rest.
  Snapshot s = Cluster(4);
  for (int i = 0; i < 3; ++i) AddJobView(s, 400, 0.01).arrival_s = i * 86'400;
  Allocation a = DecideWith("fifo", s);
  for (const Grant& each : a.jobs) EXPECT_NEAR(each.cores, 4.0 / 3, 1e-9);
  s.floor = 0.1;
  a = DecideWith("fifo", s);
  EXPECT_NEAR(a.jobs[0].cores, 4 - 2 * 0.4 / 3, 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 0.4 / 3, 1e-9);
  EXPECT_NEAR(a.jobs[2].cores, 0.4 / 3, 1e-9);
}

TEST(Fifo, TheSourceIsDividedLikewise) {
  // 10 kB a sample: each job wants 1 of 1.5 MB/s. Each gets three quarters of its wish, and then needs as
  // much of the cores.
  Snapshot s = Cluster(8);
  s.supply.source_rate = 1.5e6;
  AddJobView(s, 100, 0.01).terms.miss_bytes = 1e4;
  AddJobView(s, 100, 0.01).terms.miss_bytes = 1e4;
  const Allocation a = DecideWith("fifo", s);
  EXPECT_NEAR(a.jobs[0].rate, 75, 1e-9);
  EXPECT_NEAR(a.jobs[1].rate, 75, 1e-9);
  EXPECT_NEAR(a.jobs[1].cores, 0.75 * (1 + kHeadroom), 1e-9);
  EXPECT_NEAR(a.jobs[1].source_rate, 7.5e5, 1e-3);
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
