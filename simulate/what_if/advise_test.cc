#include "simulate/what_if/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "simulate/engine.h"
#include "simulate/simulate_test_util.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using testing::HasSubstr;
using testing::Not;

// Two trainers that would take a sample a second, of two core-seconds each, on two cores: both get half of that.
LiveState Starving() {
  LiveState state;
  state.cluster.gpus = 2;
  state.cluster.cpu_per_gpu = 1;
  state.start.time_s = 1000;
  for (const char* name : {"4", "9"}) {
    Job job = TestJob(0, 300, 1, 2);
    job.id = name;
    job.model = "train.py";
    state.trace.jobs.push_back(job);
    state.start.jobs.push_back({.running = true, .done = 200, .run_s = 1000, .useful_gpu_s = 500});
  }
  return state;
}

const coordinator::Policy& ItsPolicy(const LiveState& state) { return PolicyNamed(state.policy); }

const AdviceRow* Find(const Advice& advice, ChangeKind kind, double amount) {
  for (const AdviceRow& row : advice.rows) {
    if (row.change.kind == kind && row.change.amount == amount) return &row;
  }
  return nullptr;
}

TEST(Advise, SaysWhatMoreCoresWouldChange) {
  const LiveState state = Starving();
  const Result<Advice> advice = Advise(state, ItsPolicy(state), std::nullopt);
  ASSERT_TRUE(advice.ok()) << advice.status().message();
  // 100 samples at half a sample a second.
  EXPECT_NEAR(advice->now.mean_left_s, 200, 1);
  EXPECT_NEAR(advice->now.stall_share, 0.5, 0.01);
  const AdviceRow* one = Find(*advice, ChangeKind::kCores, 1);
  const AdviceRow* two = Find(*advice, ChangeKind::kCores, 2);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  EXPECT_NEAR(one->forecast.mean_left_s, 100 / 0.75, 3);
  EXPECT_NEAR(two->forecast.mean_left_s, 100, 3);
  EXPECT_NEAR(two->forecast.stall_share, 0, 0.03);
  EXPECT_EQ(Find(*advice, ChangeKind::kPriority, 1), nullptr) << "nobody asked about one job";
}

TEST(Advise, AboutOneJobSaysWhatItsPriorityWouldChange) {
  const LiveState state = Starving();
  const Result<Advice> advice = Advise(state, ItsPolicy(state), 1);
  ASSERT_TRUE(advice.ok());
  const AdviceRow* row = Find(*advice, ChangeKind::kPriority, 1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->change.job, "9");
  EXPECT_LT(row->forecast.left_s[1], 115);
  EXPECT_GT(row->forecast.left_s[0], 190);
}

TEST(Advise, WhoWaitsForTheOthersIsForTheScheduler) {
  LiveState state = Starving();
  state.start.jobs[0].done = 100;  // job 4 has twice as much left
  const Result<Advice> advice = Advise(state, ItsPolicy(state), std::nullopt);
  ASSERT_TRUE(advice.ok());
  ASSERT_EQ(advice->rows.back().change.kind, ChangeKind::kHold);
  const AdviceRow& row = advice->rows.back();
  EXPECT_TRUE(row.change.for_scheduler());
  EXPECT_EQ(row.change.job, "4");
  // Job 9 has both cores for its 100 samples, then job 4 has them for its 200.
  EXPECT_NEAR(row.forecast.left_s[1], 100, 2);
  EXPECT_NEAR(row.forecast.left_s[0], 300, 4);
  ASSERT_EQ(advice->hints.size(), 2U);
  EXPECT_EQ(advice->hints[0].job, 1U);
  // 100 s, of one GPU of two and of two cores of two.
  EXPECT_NEAR(advice->hints[0].work_s, 150, 1e-6);
  EXPECT_FALSE(advice->hints[0].starved);
  EXPECT_TRUE(advice->hints[1].starved) << "job 9 needs both cores";
  const std::string table = AdviceTable(state, *advice, std::nullopt);
  EXPECT_THAT(table,
              HasSubstr("2. job 4 (train.py): 5 min of the whole cluster; better later: its GPUs "
                        "would mostly wait for cores\n"));
  EXPECT_THAT(table, HasSubstr("job 4 waits until the others have ended *"));
  EXPECT_THAT(table, HasSubstr("Headrace gives no GPUs, and does not do it"));
  EXPECT_THAT(table, HasSubstr("1. job 9 (train.py): 150 s of the whole cluster\n"));
}

TEST(Advise, IsAnHourAheadWhereTheRemainingWorkIsNotKnown) {
  LiveState state = Starving();
  for (Job& job : state.trace.jobs) job.iterations = kUnlimited;
  const Result<Advice> advice = Advise(state, ItsPolicy(state), 0);
  ASSERT_TRUE(advice.ok());
  EXPECT_EQ(advice->now.left_s[0], kUnlimited);
  EXPECT_NEAR(advice->now.hour_samples[0], 1800, 20);
  EXPECT_NEAR(Find(*advice, ChangeKind::kCores, 2)->forecast.hour_samples[0], 3600, 40);
  const std::string table = AdviceTable(state, *advice, 0);
  EXPECT_THAT(table, HasSubstr("The remaining work of 2 jobs is not known"));
  EXPECT_THAT(table, HasSubstr("NEXT HOUR'S SAMPLES OF JOB 4"));
  EXPECT_THAT(table, HasSubstr("remaining work is not known\n"));
  EXPECT_THAT(table, Not(HasSubstr("MEAN TIME LEFT")));
  EXPECT_THAT(table, Not(HasSubstr("waits until"))) << "the others never end";
  const auto json = nlohmann::json::parse(AdviceJson(state, *advice, 0));
  EXPECT_TRUE(json["now"]["mean_left_s"].is_null());
  EXPECT_TRUE(json["gpu_order_for_scheduler"][0]["work_s"].is_null());
  EXPECT_EQ(json["gpu_order_for_scheduler"][1]["starved"], true);
  EXPECT_TRUE(json["changes"][0]["job_left_change"].is_null());
  EXPECT_NEAR(json["changes"][1]["job_next_hour_samples_change"], 1, 0.03);
}

TEST(Advise, SaysNothingOfWhatNobodyLacks) {
  LiveState state = Starving();
  const Result<Advice> advice = Advise(state, ItsPolicy(state), std::nullopt);
  for (const AdviceRow& row : advice->rows) {
    EXPECT_NE(row.change.kind, ChangeKind::kCache) << "no job reads data that could be cached";
    EXPECT_NE(row.change.kind, ChangeKind::kSource) << "the source has no limit";
  }
  state.cluster.extra_cores = 10;  // all go at full speed
  const Result<Advice> enough = Advise(state, ItsPolicy(state), std::nullopt);
  for (const AdviceRow& row : enough->rows) EXPECT_NE(row.change.kind, ChangeKind::kHold);
  for (const Hint& hint : enough->hints) EXPECT_FALSE(hint.starved);
}

TEST(Advise, CountsCacheAndSource) {
  LiveState state = Starving();
  state.cluster.extra_cores = 10;
  state.cluster.source_rate = 1e6;
  state.trace.datasets = {{"data", 1e8}};
  for (Job& job : state.trace.jobs) {
    job.dataset = 0;
    job.sample_bytes = job.entry_bytes = 1e6;
    job.iterations = 1200;
  }
  const Result<Advice> advice = Advise(state, ItsPolicy(state), std::nullopt);
  ASSERT_TRUE(advice.ok()) << advice.status().message();
  const AdviceRow* source = Find(*advice, ChangeKind::kSource, 1e6);
  const AdviceRow* cache = Find(*advice, ChangeKind::kCache, 1e8);
  ASSERT_TRUE(source != nullptr && cache != nullptr);
  EXPECT_NEAR(advice->now.mean_left_s, 2000, 20);
  EXPECT_NEAR(source->forecast.mean_left_s, 1000, 20);
  EXPECT_LT(cache->forecast.mean_left_s, 1300) << "after the first epoch it reads from the cache";
  EXPECT_GT(cache->forecast.mean_left_s, 1000);
}

// What a row says is what a simulation of the changed state says, also of one that was written and read again.
TEST(Advise, ItsRowsAreSimulationsOfTheChangedState) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    LiveState state;
    state.policy = seed % 2 == 0 ? "utilization" : "fifo";
    state.start.time_s = 5000;
    state.cluster.gpus = 0;
    state.cluster.cache_bytes = 1e9;
    state.cluster.source_rate = 1e8;
    const std::size_t jobs = 2 + rng() % 4;
    for (std::size_t i = 0; i < jobs; ++i) {
      Job job = TestJob(1000.0 * static_cast<double>(i), real(1000, 4000), 1, real(0.1, 4));
      job.id = std::to_string(i);
      job.gpus = 1 + static_cast<int>(rng() % 3);
      job.batch = 16;
      job.dataset = static_cast<std::int32_t>(i);
      job.sample_bytes = job.entry_bytes = 1e6;
      state.trace.datasets.push_back({job.id, real(1e9, 1e10)});
      state.start.cached_bytes.push_back(1e9 / static_cast<double>(jobs));
      state.start.jobs.push_back({.running = true, .done = real(0, 15'000), .run_s = 100});
      state.cluster.gpus += job.gpus;
      state.trace.jobs.push_back(std::move(job));
    }
    const Result<Advice> advice = Advise(state, ItsPolicy(state), rng() % jobs);
    ASSERT_TRUE(advice.ok()) << advice.status().message();
    EXPECT_GE(advice->rows.size(), 7U);
    for (const AdviceRow& row : advice->rows) {
      const Result<LiveState> changed =
          ReadLiveState("test", LiveStateJson(WithChange(state, row.change)));
      ASSERT_TRUE(changed.ok()) << changed.status().message();
      PolicyScheduler scheduler(ItsPolicy(state));
      const Result<Outcome> outcome =
          SimulateFrom(changed->start, kUnlimited, nullptr, changed->trace, changed->cluster,
                       CacheMode::kJoint, {}, scheduler);
      ASSERT_TRUE(outcome.ok());
      for (const JobOutcome& each : outcome->jobs) {
        const std::size_t at = *FindJob(state, changed->trace.jobs[each.job].id);
        EXPECT_NEAR(row.forecast.left_s[at], each.finish_s - 5000, 1e-6);
      }
    }
  }
}

TEST(Advise, AWrongJobHearsWhichThereAre) {
  LiveState state = Starving();
  state.unmeasured = {"12"};
  EXPECT_EQ(FindJob(state, "3").status().message(), "no job 3 runs; there are 4, 9");
  EXPECT_THAT(FindJob(state, "12").status().message(), HasSubstr("nothing is measured of job 12"));
  EXPECT_EQ(*FindJob(state, "9"), 1U);
}

}  // namespace
}  // namespace headrace::simulate
