// What leaves of stages get of the workers' caches, by the policies.
#include "coordinator/leaf_caches.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/describe_datasets.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

constexpr double kEntry = 4e5;  // bytes

class LeafCachesTest : public ClusterPlannerTest {
 protected:
  JobId JobOf(std::uint64_t dataset = 0, const std::string& tenant = "", std::int64_t rows = 2000,
              std::uint64_t bound = wire::kNoCacheBound, const std::string& host = "home") {
    AddJob add;
    add.cache_bytes = bound;
    add.tenant = tenant;
    add.name = "program " + tenant;
    add.host = {host, host, 0, 1};
    const JobId job = Job(add);
    AddSession session;
    session.job = job;
    session.session = SessionId(job.value);
    session.dataset = dataset;
    session.plan_name = dataset == 0 ? "Stage" : "Native";
    session.rows = rows;
    if (dataset == 0) session.leaves = LeafNumberOf(state_, *state_.FindJob(job), "Stage");
    Apply(session);
    return job;
  }
  // What a worker's cache has of a job, and what a sample of it costs.
  struct Facts {
    double entry_s = 0;  // that making an entry takes; 0: the job has no leaves
    double cached = 0;   // part of its data set
    double cost = 0.01;  // CPU seconds that a sample takes without any hit
  };
  // Seconds of jobs of 2000 samples an epoch, 100 samples each second.
  void Run(WorkerId worker, const std::map<JobId, Facts>& jobs, int seconds) {
    for (int second = 0; second < seconds; ++second) {
      std::vector<wire::JobUsage> usage;
      for (const auto& [job, facts] : jobs) {
        wire::JobUsage& own = usage_[job];
        own.job = job;
        own.samples += 100;
        own.cache_entries = static_cast<std::uint64_t>(2000 * facts.cached);
        own.cache_entry_bytes = static_cast<std::uint64_t>(2000 * facts.cached * kEntry);
        own.cache_bytes = own.cache_entry_bytes;
        const auto hits = static_cast<std::uint64_t>(100 * facts.cached);
        own.cache_hits += hits;
        own.cache_misses += 100 - hits;
        if (facts.entry_s > 0) {
          own.cache_made_ns = static_cast<std::uint64_t>(1e9 * facts.entry_s *
                                                         static_cast<double>(own.cache_entries));
        }
        usage.push_back(own);
        wire::SessionLoad& load = loads_[job];
        load.iterations = load.samples / 2000 + 1;
        Report(job, 100, facts.cost - facts.cached * facts.entry_s, 1e5 * (1 - facts.cached));
      }
      Report(worker, usage);
      now_ += std::chrono::seconds(1);
      Apply(coordinator::EndPeriod{now_});
    }
  }
  using ClusterPlannerTest::Report;
  static double Granted(const ClusterPlan& plan, JobId job, WorkerId worker) {
    for (const JobPlan& each : plan.jobs) {
      if (each.job != job) continue;
      const auto at = each.grants.find(worker);
      return at == each.grants.end() ? 0 : static_cast<double>(at->second.cache_bytes);
    }
    return 0;
  }

  std::map<JobId, wire::JobUsage> usage_;
  SteadyTime now_{};
};

constexpr double kAll = 2000 * kEntry;  // bytes of a data set

TEST_F(LeafCachesTest, ANewJobHasRoomToTryBesideADataSetThatWantsAll) {
  const WorkerId worker = Worker(4, "home", 800'000'000);
  const JobId native = JobOf(77), stage = JobOf();
  Run(worker, {{native, {.cost = 0.02}}}, 3);
  Plan();
  const ClusterPlan plan = Plan();
  EXPECT_GE(Granted(plan, stage, worker), kMostToTry) << "else nothing of it was ever measured";
  EXPECT_LE(Granted(plan, stage, worker), 1.05 * kMostToTry);
  EXPECT_GT(Granted(plan, native, worker), 0.9 * (8e8 - kMostToTry));
}

// Of two data sets of one size, the one whose byte saves more is cached, be it of leaves or native.
TEST_F(LeafCachesTest, LeavesThatSaveMoreAByteHaveTheRoomAndThoseThatSaveLessHaveNot) {
  for (const double entry_s : {0.1, 0.001}) {
    state_ = {};
    usage_.clear();
    loads_.clear();
    const WorkerId worker = Worker(64, "home", 900'000'000);
    const JobId native = JobOf(77), stage = JobOf();
    // A hit of the native job is taken to save 9/10 of 0.02 s.
    const std::map<JobId, Facts> facts{{native, {.cost = 0.02}},
                                       {stage, {.entry_s = entry_s, .cached = 0.04, .cost = 0.12}}};
    for (int second = 0; second < 60; ++second) {
      Plan();
      Run(worker, facts, 1);
    }
    const ClusterPlan plan = MakePlan(rules_, state_);
    if (entry_s > 0.02) {
      EXPECT_GT(Granted(plan, stage, worker), 0.9 * kAll);
    } else {
      EXPECT_LT(Granted(plan, stage, worker), 0.2 * kAll);
      EXPECT_GE(Granted(plan, stage, worker), 0.99 * kMostToTry);
    }
  }
}

TEST_F(LeafCachesTest, EachPolicyPlansForThemWithinQuotasAndBounds) {
  for (const std::string& name : policies_.Names()) {
    SCOPED_TRACE(name);
    rules_ = {};
    rules_.policy = policies_.Find(name);
    rules_.tenants.push_back({.name = "few"});
    rules_.tenants.back().quota.cache_bytes = 50e6;
    rules_.dataset_bytes = {{"Stage", 200e6}};
    state_ = {};
    usage_.clear();
    loads_.clear();
    const WorkerId worker = Worker(64, "home", 300'000'000);
    const JobId one = JobOf(), few = JobOf(0, "few");
    const Facts facts{.entry_s = 0.05, .cached = 0.03, .cost = 0.06};
    for (int second = 0; second < 50; ++second) {
      Plan();
      Run(worker, {{one, facts}, {few, facts}}, 1);
    }
    const ClusterPlan plan = MakePlan(rules_, state_);
    EXPECT_GT(Granted(plan, one, worker), 150e6);
    EXPECT_LE(Granted(plan, one, worker), 200e6) << "also of what is left over";
    EXPECT_LE(Granted(plan, few, worker), 50e6);
    EXPECT_LE(Granted(plan, one, worker) + Granted(plan, few, worker), 300e6);
  }
}

// Programs that make a loader for each epoch read nothing between two of them. A worker gives up what is beyond a
// quota at once, and what the epoch has just handed over is not told yet.
TEST_F(LeafCachesTest, BetweenTwoLoadersTheyStay) {
  const WorkerId worker = Worker(8, "home", 400'000'000);
  const JobId job = JobOf();
  const auto planned = [&] {
    Plan();
    return Granted(Plan(), job, worker);
  };
  const Facts facts{.entry_s = 0.05, .cached = 0.2, .cost = 0.06};
  for (int second = 0; second < 3; ++second) {
    Plan();
    Run(worker, {{job, facts}}, 1);
  }
  const double before = planned();
  ASSERT_GT(before, 0.9 * 4e8);
  Apply(RemoveSession{job, SessionId(job.value)});
  const auto idle = [&] { return state_.FindJob(job)->grants.at(worker).idle; };
  EXPECT_EQ(planned(), 0);
  EXPECT_TRUE(idle());
  // Another program has the room, natively or as a stage.
  const JobId stage = JobOf();
  EXPECT_EQ(planned(), 0);
  EXPECT_GT(Granted(Plan(), stage, worker), 0.9 * 4e8);
  Apply(RemoveJob{stage});
  const JobId native = JobOf(77);
  EXPECT_EQ(planned(), 0);
  EXPECT_GT(Granted(Plan(), native, worker), 0.9 * 4e8);
  EXPECT_TRUE(idle());
  Apply(RemoveJob{native});
  // The next loader has a quota again as any other.
  AddSession session;
  session.job = job;
  session.session = SessionId(job.value + 100);
  Apply(session);
  EXPECT_GT(planned(), 0.9 * 4e8);
  EXPECT_FALSE(idle());
  // A stage that is open and looks for nothing keeps nothing.
  wire::JobUsage blind;
  blind.job = job;
  blind.samples = 5000;
  Report(worker, {blind});
  EXPECT_EQ(planned(), 0);
}

TEST_F(LeafCachesTest, OnlyWorkersOfItsHostKeepLeaves) {
  const WorkerId own = Worker(8, "home", 1'000'000'000), far = Worker(8, "pool", 1'000'000'000);
  const JobId job = JobOf();
  EXPECT_TRUE(KeepsLeavesOf(state_, own, *state_.FindJob(job)));
  EXPECT_FALSE(KeepsLeavesOf(state_, far, *state_.FindJob(job)));
  const WorkerId none = Worker(8, "home", 0);
  EXPECT_FALSE(KeepsLeavesOf(state_, none, *state_.FindJob(job)));
}

TEST_F(LeafCachesTest, ThousandsOfJobsDoNotTakeTheCacheByTrying) {
  const WorkerId worker = Worker(8, "home", 1'000'000'000);
  for (int i = 0; i < 100; ++i) JobOf();
  Plan();
  EXPECT_NEAR(RoomToTry(state_, 1e9), 1e9 / 16 / 100, 1);
  EXPECT_EQ(RoomToTry(State(), 1e9), 0);
  static_cast<void>(worker);
}

TEST_F(LeafCachesTest, TheyAreShownAsOtherEntriesAre) {
  const WorkerId worker = Worker(64, "home", 400'000'000);
  const JobId job = JobOf();
  for (int second = 0; second < 50; ++second) {
    Plan();
    Run(worker, {{job, {.entry_s = 0.05, .cached = 0.49, .cost = 0.06}}}, 1);
  }
  const auto shown = DescribeDatasets(state_, ViewDatasets(state_));
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].form, "leaves");
  EXPECT_EQ(shown[0].name, "Stage");
  EXPECT_EQ(shown[0].jobs, std::vector<JobId>{job});
  EXPECT_NEAR(static_cast<double>(shown[0].bytes), kAll, 0.1 * kAll);
  EXPECT_NEAR(static_cast<double>(shown[0].rows), 2000, 100);
  EXPECT_NEAR(shown[0].hit_share, 0.49, 0.03);
  EXPECT_NE(shown[0].dataset, 0U) << "lists tell data sets apart by it";
  ASSERT_EQ(shown[0].parts.size(), 1U);
  EXPECT_EQ(shown[0].parts[0].entries, 980U);
  EXPECT_EQ(shown[0].parts[0].hits, 2450U);
  EXPECT_EQ(shown[0].parts[0].misses, 2550U);
}

TEST_F(LeafCachesTest, AdviceSaysWhatMoreCacheWouldDo) {
  Worker(1, "pool");
  const WorkerId worker = Worker(1, "home", 400'000'000);
  const JobId job = JobOf();
  for (int second = 0; second < 50; ++second) {
    Plan();
    Run(worker, {{job, {.entry_s = 0.05, .cached = 0.49, .cost = 0.06}}}, 1);
  }
  const CacheOffer offer = CacheOfferOf(rules_, state_, *state_.FindJob(job), ViewDatasets(state_));
  EXPECT_NEAR(offer.total, kAll, 0.1 * kAll);
  EXPECT_GT(offer.granted, 0.9 * 4e8);
  EXPECT_LT(offer.free, 0.1 * 4e8);
  const coordinator::Job& known = *state_.FindJob(job);
  EXPECT_NEAR(known.meter.hit(), 0.49, 0.03);
  EXPECT_NEAR(known.meter.measured().miss_cost, 0.06, 0.003);
  EXPECT_NEAR(known.meter.measured().hit_cost, 0.01, 0.003);
}

}  // namespace
}  // namespace headrace::coordinator
