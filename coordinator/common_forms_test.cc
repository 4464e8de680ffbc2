#include "coordinator/common_forms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "coordinator/cluster_planner.h"
#include "coordinator/dataset_orders.h"
#include "coordinator/dataset_view.h"
#include "coordinator/describe_datasets.h"

namespace headrace::coordinator {
namespace {

constexpr std::int64_t kPictures = 1000;
constexpr std::uint64_t kOneSource = 5;

class CommonFormsTest : public testing::Test {
 protected:
  CommonFormsTest() {
    RegisterPolicies(policies_);
    rules_.policy = policies_.Find("utilization");
    rules_.lease_all = true;
  }
  void Apply(const Update& update) {
    const Status applied = state_.Apply(update);
    HR_CHECK(applied.ok());
  }
  void AddHost(double cache_bytes) {
    AddWorker add;
    add.token = "worker-token";
    add.info.worker = worker_ = state_.next_worker();
    add.info.endpoints = {"tcp://10.0.0.1:7"};
    add.info.host = {"a", "a", 0, 1};
    add.info.cache_bytes = static_cast<std::uint64_t>(cache_bytes);
    Apply(add);
    Tell();
  }
  // `prefixes`: hashes of what the first 1, 2, ... nodes make.
  JobId AddReader(std::vector<std::uint64_t> prefixes) {
    AddJob add;
    add.job = state_.next_job();
    add.consumer = state_.next_consumer();
    add.token = "job-token-" + std::to_string(add.job.value);
    add.host = {"home", "home", 0, 1};
    add.cache_bytes = wire::kNoCacheBound;
    Apply(add);
    AddSession session;
    session.job = add.job;
    session.session = SessionId(add.job.value);
    session.plan_name = "pictures";
    session.split.cache_node = static_cast<std::int32_t>(prefixes.size());
    session.dataset = MixBits(kOneSource + prefixes.back());  // as the coordinator names it
    session.rows = kPictures;
    session.source = kOneSource;
    session.prefixes = std::move(prefixes);
    Apply(session);
    return add.job;
  }
  void Cache(JobId job, std::uint64_t entries, std::uint64_t each) {
    wire::JobUsage usage{.job = job, .tiers = {}};
    usage.cache_entries = entries;
    usage.cache_bytes = entries * each;
    usage_.push_back(usage);
    Tell();
  }
  void Tell() {
    wire::WorkerHeartbeat beat;
    beat.worker = worker_;
    beat.usage = usage_;
    Apply(ReportWorker{{}, std::move(beat)});
  }
  void Plan() {
    Apply(EndPeriod{});
    for (const JobPlan& each : MakePlan(rules_, state_).jobs) {
      std::vector<WorkerId> workers;
      for (const auto& [id, grant] : each.grants) workers.push_back(id);
      Apply(SetLeases{each.job, state_.FindJob(each.job)->generation + 1, workers});
      Apply(SetGrants{each.job, each.grants, each.reason});
    }
  }
  wire::JobGrant GrantOf(JobId job) { return state_.FindJob(job)->grants.at(worker_); }

  PolicyRegistry policies_;
  PlanRules rules_;
  State state_;
  WorkerId worker_;
  std::vector<wire::JobUsage> usage_;
};

TEST_F(CommonFormsTest, JobsThatBeginTogetherKeepWhatBothCanUse) {
  AddHost(10e9);
  const JobId small = AddReader({1, 2, 3}), large = AddReader({1, 2, 4, 5});
  Plan();
  EXPECT_EQ(GrantOf(small).cache_nodes, 2);
  EXPECT_EQ(GrantOf(large).cache_nodes, 2);
  EXPECT_NE(GrantOf(small).data_set, 0U);
  EXPECT_EQ(GrantOf(small).data_set, GrantOf(large).data_set);
  const auto views = ViewDatasets(state_);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(DescribeDatasets(state_, views)[0].form, "after 2 nodes");
  EXPECT_EQ(DescribeDatasets(state_, views)[0].jobs.size(), 2U);
  // It holds for the one that stays.
  Cache(small, kPictures, 500'000);
  Apply(RemoveJob{large});
  Plan();
  EXPECT_EQ(GrantOf(small).cache_nodes, 2);
  // And for one that comes, as far as it can use that.
  const JobId third = AddReader({1, 9});
  Plan();
  EXPECT_EQ(GrantOf(third).cache_nodes, 1);
  EXPECT_EQ(GrantOf(small).cache_nodes, 1);
}

// Their entries are the same, whichever of them made one.
TEST_F(CommonFormsTest, AnOrderIsAboutAllThatHaveTheForm) {
  AddHost(10e9);
  const JobId small = AddReader({1, 2, 3}), large = AddReader({1, 2, 4, 5});
  Plan();
  Cache(small, 100, 500'000);
  const auto order = [&](wire::DatasetAction action) {
    OrderOutcome out = TakeOrder(
        rules_, state_, {.request = 1, .action = action, .name = "pictures"}, /*wall_ms=*/1);
    EXPECT_TRUE(out.reply.status.ok()) << out.reply.status.ToString();
    for (const Update& update : out.updates) Apply(update);
    return out;
  };
  const OrderOutcome drop = order(wire::DatasetAction::kDrop);
  ASSERT_EQ(drop.updates.size(), 1U);
  EXPECT_EQ(std::get<DropDataset>(drop.updates[0]).jobs, (std::vector{small, large}));
  EXPECT_EQ(order(wire::DatasetAction::kPin).updates.size(), 2U);
  const auto shown = DescribeDatasets(state_, ViewDatasets(state_));
  ASSERT_EQ(shown.size(), 1U) << "neither is one without a job";
  EXPECT_TRUE(shown[0].pinned);
  EXPECT_EQ(shown[0].dropping, 1U);
  ASSERT_EQ(shown[0].parts.size(), 1U);
  EXPECT_EQ(shown[0].parts[0].entries, 100U);
  EXPECT_EQ(order(wire::DatasetAction::kUnpin).updates.size(), 2U);
}

TEST_F(CommonFormsTest, EqualPrefixesAndOtherSourcesChangeNothing) {
  AddHost(10e9);
  const JobId first = AddReader({1, 2}), same = AddReader({1, 2});
  const JobId nothing_alike = AddReader({7, 8});
  Plan();
  for (const JobId job : {first, same, nothing_alike}) EXPECT_EQ(GrantOf(job).cache_nodes, 0);
  EXPECT_EQ(GrantOf(first).data_set, GrantOf(same).data_set);
  EXPECT_NE(GrantOf(first).data_set, GrantOf(nothing_alike).data_set);
}

TEST_F(CommonFormsTest, WhatOneKeepsIsTheCommonFormWhereAnotherOneCanUseIt) {
  AddHost(10e9);
  const JobId pixels = AddReader({1});
  Plan();
  const std::uint64_t kept = GrantOf(pixels).data_set;
  Cache(pixels, kPictures, 500'000);
  const JobId later = AddReader({1, 2});
  Plan();
  EXPECT_EQ(GrantOf(later).cache_nodes, 1);
  EXPECT_EQ(GrantOf(later).data_set, kept);
  EXPECT_EQ(GrantOf(pixels).data_set, kept) << "nothing of it is lost";
}

TEST_F(CommonFormsTest, AFullCacheIsNotGivenUpForAJobThatComesLater) {
  AddHost(10e9);
  const JobId first = AddReader({1, 2});
  Plan();
  Cache(first, kPictures, 200'000);
  const JobId later = AddReader({1, 3});
  for (int period = 0; period < 3; ++period) Plan();
  EXPECT_EQ(GrantOf(first).cache_nodes, 0);
  EXPECT_EQ(GrantOf(later).cache_nodes, 0);
}

// Ten sizes of the pictures, and room for one of them: what all can use hits six times as much.
TEST_F(CommonFormsTest, ASmallCacheTurnsToTheCommonFormWhereThatHitsMore) {
  AddHost(kPictures * 300e3);
  std::vector<JobId> jobs = {AddReader({1, 2})};
  Plan();
  Cache(jobs[0], kPictures, 300'000);
  for (std::uint64_t size = 3; size < 12; ++size) jobs.push_back(AddReader({1, size}));
  Plan();
  for (const JobId job : jobs) EXPECT_EQ(GrantOf(job).cache_nodes, 1);
}

}  // namespace
}  // namespace headrace::coordinator
