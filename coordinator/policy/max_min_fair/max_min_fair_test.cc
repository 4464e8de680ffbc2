#include <gtest/gtest.h>

#include "coordinator/policy/core/policy_test_util.h"

namespace headrace::coordinator {
namespace {

TEST(MaxMinFair, AllAreServedAlikeAgainstTheirEqualShare) {
  // Equal shares of 4 cores are 2 each: 200/s and 20/s. Both want more.
  Snapshot s = Cluster(4);
  AddJobView(s, 1000, 0.01);
  AddJobView(s, 100, 0.1);
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_NEAR(a.jobs[0].rate, 200, 0.01);
  EXPECT_NEAR(a.jobs[1].rate, 20, 0.001);
}

TEST(MaxMinFair, WhatOneDoesNotNeedGoesToTheOther) {
  Snapshot s = Cluster(4);
  AddJobView(s, 50, 0.01);  // half a core
  AddJobView(s, 1000, 0.01);
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_NEAR(a.jobs[0].cores, 0.5, 1e-3);
  EXPECT_NEAR(a.jobs[1].cores, 3.5, 1e-3);
}

TEST(MaxMinFair, WeightsOfTenantsCount) {
  Snapshot s = Cluster(4);
  s.tenants = {{"a", 1, s.tenants[0].quota}, {"b", 3, s.tenants[0].quota}};
  AddJobView(s, 1000, 0.01);
  AddJobView(s, 1000, 0.01).tenant = 1;
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_NEAR(a.jobs[0].cores, 1, 1e-3);
  EXPECT_NEAR(a.jobs[1].cores, 3, 1e-3);
}

TEST(MaxMinFair, AQuotaBindsItsTenantAlone) {
  Snapshot s = Cluster(4);
  s.tenants = {{"a", 1, s.tenants[0].quota}, {"b", 1, s.tenants[0].quota}};
  s.tenants[0].quota.cores = 1;
  AddJobView(s, 1000, 0.01);
  AddJobView(s, 1000, 0.01).tenant = 1;
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_NEAR(a.jobs[0].cores, 1, 1e-3);
  EXPECT_NEAR(a.jobs[1].cores, 3, 1e-3);
}

TEST(MaxMinFair, WhoReceivedLeastComesFirst) {
  Snapshot s = Cluster(4);
  s.supply.gpus = 1;
  AddJobView(s, 100, 0.01).received = 1000;
  AddJobView(s, 100, 0.01).received = 10;
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_FALSE(a.jobs[0].admitted);
  EXPECT_TRUE(a.jobs[1].admitted);
}

// One GPU, two jobs in turns: the cached data of the paused job stays.
TEST(MaxMinFair, DataOfAJobThatPausesKeepsItsCache) {
  Snapshot s = Cluster(100);
  s.supply.gpus = 1;
  s.supply.cache_bytes = 1e9;
  s.supply.source_rate = 1e6;
  s.datasets = {{1e9, 5e8}, {1e9, 5e8}};
  s.jobs.reserve(2);
  for (int i = 0; i < 2; ++i) {
    JobView& job = AddJobView(s, 100, 0.001);
    job.dataset = i;
    job.terms.miss_bytes = 1e5;
    job.received = 100 + i;
    job.running = i == 1;
  }
  const Allocation a = DecideWith("max_min_fair", s);
  ASSERT_TRUE(a.jobs[0].admitted);
  ASSERT_FALSE(a.jobs[1].admitted);
  EXPECT_DOUBLE_EQ(a.dataset_bytes[1], 5e8);
  // A job that never ran has no claim.
  s.jobs[1].received = 0;
  s.jobs[1].running = false;
  s.jobs[0].received = -1;
  EXPECT_DOUBLE_EQ(DecideWith("max_min_fair", s).dataset_bytes[0], 1e9);
}

// It does not turn the division between the others into one by order of arrival either.
TEST(MaxMinFair, OthersAreServedAlikeBesideATenantAtItsQuota) {
  Snapshot s = Cluster(100);
  s.tenants = {{"a"}, {"b"}, {"c"}};
  s.tenants[0].quota.cores = 1;
  for (int t = 0; t < 3; ++t) AddJobView(s, 1000, 0.1).tenant = t;  // 100 cores each
  const Allocation a = DecideWith("max_min_fair", s);
  EXPECT_NEAR(a.jobs[0].cores, 1, 1e-3);
  EXPECT_NEAR(a.jobs[1].cores, 49.5, 1e-2);
  EXPECT_NEAR(a.jobs[2].cores, 49.5, 1e-2);
}

}  // namespace
}  // namespace headrace::coordinator
