#include <random>

#include "coordinator/cluster_planner_links_fixture.h"

namespace headrace::coordinator {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

// 8 cores of 100 samples/s each; 0.6 MB a sample.
constexpr double kRate = 800, kCost = 0.01, kBytes = 6e5;

TEST_F(PlannerLinksTest, WithoutALinkNothingChanges) {
  Worker(16);
  const JobId job = JobOn("home");
  Sends(job, kRate, kCost, kBytes);
  EndPeriod();
  EXPECT_NEAR(Cores(Plan().jobs[0]), 8.8, 1e-3);
}

TEST_F(PlannerLinksTest, AJobHasNoMoreCoresThanItsOwnLinkCarries) {
  Worker(16);
  const JobId job = JobOn("home", 126e6);  // of 480 MB/s; 200 samples/s of 630 kB
  Sends(job, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 2, 0.01);
  EXPECT_LE(Sent(plan.jobs[0]), 126e6);
  // More workers would not help.
  EXPECT_NEAR(plan.demand_cores, 2, 0.01);
}

TEST_F(PlannerLinksTest, TheWorkersLinksBindToo) {
  Linked(16, "a", 63e6);
  Linked(16, "b", 126e6);
  const JobId job = JobOn("home");
  Sends(job, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 3, 0.01);
  EXPECT_LE(Sent(plan.jobs[0], "a"), 63e6);
  EXPECT_LE(Sent(plan.jobs[0], "b"), 126e6);
  EXPECT_NEAR(plan.demand_cores, 8, 0.01) << "more workers would send more";
}

TEST_F(PlannerLinksTest, CoresOfTheOwnHostCountAgainstNoLink) {
  Linked(16, "far", 0);
  const WorkerId own = Linked(5, "home", 63e6), local = Linked(1, "home", 0, "", true);
  const JobId job = JobOn("home");
  Sends(job, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_EQ(plan.jobs[0].grants.at(own).millicores, 5000U);
  EXPECT_EQ(plan.jobs[0].grants.at(local).millicores, 1000U);
  EXPECT_NEAR(Cores(plan.jobs[0]), 7, 0.01) << "and one core's worth of the link";
}

TEST_F(PlannerLinksTest, WhatTheNetworkDoesNotCarryIsLeftToOthers) {
  Worker(8);
  const JobId bound = JobOn("home", 126e6), other = JobOn("away");
  Sends(bound, 600, kCost, kBytes);  // cheaper to serve whole than the other
  Sends(other, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 2, 0.02);
  EXPECT_NEAR(Cores(plan.jobs[1]), 6, 0.02);
}

TEST_F(PlannerLinksTest, JobsOfOneHostShareItsLinkByWhatTheyWant) {
  Worker(64);
  const JobId small = JobOn("home", 252e6), one = JobOn("home"), two = JobOn("home");
  Sends(small, 50, kCost, kBytes);  // half a core, 31.5 MB/s
  Sends(one, kRate, kCost, kBytes);
  Sends(two, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_GE(Cores(plan.jobs[0]), 0.5);
  EXPECT_NEAR(Cores(plan.jobs[1]), 1.725, 0.01);
  EXPECT_NEAR(Cores(plan.jobs[2]), 1.725, 0.01);
  EXPECT_LE(Sent(plan.jobs[0]) + Sent(plan.jobs[1]) + Sent(plan.jobs[2]), 252e6);
}

TEST_F(PlannerLinksTest, JobsShareWhatThePoolSends) {
  Linked(16, "a", 126e6);
  Linked(16, "b", 126e6);
  const JobId one = JobOn("x"), two = JobOn("y");
  Sends(one, kRate, kCost, kBytes);
  Sends(two, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 2, 0.01);
  EXPECT_NEAR(Cores(plan.jobs[1]), 2, 0.01);
}

TEST_F(PlannerLinksTest, RanksAreBoundEachByItsOwnHost) {
  Worker(64);
  const JobId narrow = JobOn("x", 126e6, "", "program"), wide = JobOn("y", 0, "", "program");
  Sends(narrow, kRate, kCost, kBytes);
  Sends(wide, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 2, 0.01);
  EXPECT_GE(Cores(plan.jobs[1]), 8) << "what it needs, and its part of the reserve";
}

TEST_F(PlannerLinksTest, TheOwnRackComesFirst) {
  const WorkerId far = Linked(16, "a", 0, "east"), near = Linked(16, "b", 0, "west");
  const JobId job = JobOn("home", 0, "west");
  Sends(job, kRate, kCost, kBytes);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_THAT(plan.jobs[0].grants, Contains(Key(near)));
  EXPECT_THAT(plan.jobs[0].grants, Not(Contains(Key(far))));
}

TEST_F(PlannerLinksTest, AnUnmeasuredJobIsNotHeldBack) {
  Linked(8, "a", 1);
  JobOn("home", 1);
  EXPECT_NEAR(Cores(Plan().jobs[0]), 8, 1e-3);
}

TEST_F(PlannerLinksTest, TheLeastThatIsSaidOfAHostHolds) {
  Linked(1, "a", 100e6);
  Linked(1, "a", 50e6);
  Linked(1, "a", 0);
  const LinkShares links(state_);
  EXPECT_TRUE(links.limited());
  EXPECT_DOUBLE_EQ(links.LinkOf("a/a"), 50e6);
  EXPECT_EQ(links.LinkOf("b/b"), kUnlimited);
}

// Whatever the cluster: no link carries more than it can, and who holds what it needs keeps it.
TEST_F(PlannerLinksTest, GrantsFitTheLinks) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    state_ = {};
    loads_.clear();
    std::map<std::string, double> link;
    for (int w = 0; w < 8; ++w) {
      const std::string host = "h" + std::to_string(rng() % 5);
      double& own = link.try_emplace(host, 0).first->second;
      if (own == 0) own = rng() % 3 == 0 ? 0 : real(1e7, 1e9);
      Linked(1 + static_cast<int>(rng() % 16), host, own, "r" + std::to_string(rng() % 2),
             rng() % 6 == 0);
    }
    std::vector<JobId> jobs;
    std::vector<double> bytes;
    for (int j = 0; j < 5; ++j) {
      const std::string host = "h" + std::to_string(rng() % 7);
      const auto own = link.find(host);
      jobs.push_back(
          JobOn(host, own == link.end() ? real(0, 1) < 0.5 ? 0 : real(1e7, 1e9) : own->second));
      bytes.push_back(real(1e4, 1e6));
    }
    for (int period = 0; period < 4; ++period) {
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        Sends(jobs[j], real(100, 2000), real(1e-3, 1e-2), bytes[j]);
      }
      EndPeriod();
      const LinkShares links(state_);
      const ClusterPlan plan = Plan();
      std::map<std::string, double> out, in;
      for (const JobPlan& each : plan.jobs) {
        in[state_.FindJob(each.job)->spec.host.hostname] += Sent(each);
        for (const auto& [host, own] : link) out[host] += Sent(each, host);
      }
      for (const auto& [host, sent] : out) EXPECT_LE(sent, links.LinkOf(host + "/" + host) * 1.001);
      for (const auto& [host, sent] : in) EXPECT_LE(sent, links.LinkOf(host + "/" + host) * 1.001);
    }
  }
}

}  // namespace
}  // namespace headrace::coordinator
