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

}  // namespace
}  // namespace headrace::coordinator
