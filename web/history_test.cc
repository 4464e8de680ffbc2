#include "web/history.h"

#include <nlohmann/json.hpp>
#include <random>

#include "gtest/gtest.h"

namespace headrace::web {
namespace {

using std::chrono::seconds;

SteadyTime At(std::int64_t s) { return SteadyTime(seconds(s)); }

// A job that has trained and waited so long, in ms.
wire::JobStatus Trained(std::int64_t id, std::uint64_t step_ms, std::uint64_t source_ms,
                        std::uint64_t decode_ms) {
  wire::JobStatus job;
  job.job = JobId(id);
  job.samples_per_second = 12.34;
  job.granted_millicores = 1500;
  job.demand_millicores = 4000;
  job.totals.step_ns = step_ms * 1'000'000;
  job.totals.stall_source_ns = source_ms * 1'000'000;
  job.totals.stall_compute_ns = decode_ms * 1'000'000;
  return job;
}

wire::ClusterStatus With(std::vector<wire::JobStatus> jobs, std::int64_t wall_ms = 0) {
  wire::ClusterStatus status;
  status.jobs = std::move(jobs);
  status.wall_ms = wall_ms;
  return status;
}

TEST(HistoryTest, TellsWhatWasWaitedForInEachStep) {
  History history;
  EXPECT_EQ(history.Json(JobId(1)), "null");
  history.Observe(With({Trained(1, 1000, 0, 0)}), At(100));
  ASSERT_NE(history.Last(JobId(1)), nullptr);
  EXPECT_FALSE(history.Last(JobId(1))->waits_known()) << "what was before is not of this step";
  EXPECT_FALSE(history.Due(At(104)));
  history.Observe(With({Trained(1, 9000, 9000, 9000)}), At(104));
  EXPECT_TRUE(history.Due(At(105)));
  history.Observe(With({Trained(1, 3000, 1000, 1000)}, 7000), At(105));
  const auto json = nlohmann::json::parse(history.Json(JobId(1)));
  EXPECT_EQ(json["step_seconds"], 5);
  EXPECT_EQ(json["last_ms"], 7000);
  EXPECT_EQ(json["wait_share"]["source"], nlohmann::json({nullptr, 0.252}));
  EXPECT_EQ(json["wait_share"]["compute"], nlohmann::json({nullptr, 0.252}));
  EXPECT_EQ(json["wait_share"]["network"], nlohmann::json({nullptr, 0}));
  EXPECT_EQ(json["samples_per_second"], nlohmann::json({12.3, 12.3}));
  EXPECT_EQ(json["granted_cores"], nlohmann::json({1.5, 1.5}));
  EXPECT_EQ(json["demand_cores"], nlohmann::json({4, 4}));
}

TEST(HistoryTest, AStepWithoutTrainingIsUnknownAndCountersMayFall) {
  History history;
  history.Observe(With({Trained(1, 1000, 0, 0)}), At(0));
  history.Observe(With({Trained(1, 1000, 0, 0)}), At(5));
  EXPECT_FALSE(history.Last(JobId(1))->waits_known()) << "no step was taken";
  history.Observe(With({Trained(1, 500, 500, 0)}), At(10));
  EXPECT_EQ(history.Last(JobId(1))->waits[1], 250) << "only what grew";
}

TEST(HistoryTest, StepsInWhichNobodyLookedAreUnknown) {
  History history;
  history.Observe(With({Trained(1, 1000, 0, 0)}), At(0));
  history.Observe(With({Trained(1, 2000, 1000, 0)}), At(20));
  const auto json = nlohmann::json::parse(history.Json(JobId(1)));
  const nlohmann::json none;
  EXPECT_EQ(json["samples_per_second"], nlohmann::json({12.3, none, none, none, 12.3}));
  EXPECT_EQ(json["granted_cores"], nlohmann::json({1.5, none, none, none, 1.5}));
}

// Whatever comes: no more steps and jobs than allowed, and shares that add up to one at most.
TEST(HistoryTest, WhateverComesItStaysSmall) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  const auto draw = [&](int most) { return static_cast<std::uint64_t>(rng() % (most + 1)); };
  History history({.step = seconds(5), .steps = 20, .jobs = 6});
  std::int64_t now = 0;
  for (int round = 0; round < 400; ++round) {
    now += static_cast<std::int64_t>(draw(round % 50 == 0 ? 100'000 : 12));
    std::vector<wire::JobStatus> jobs;
    for (int id = 0; id < 9; ++id) {
      if (draw(9) == 0) continue;
      wire::JobStatus job = Trained(id, draw(5000), draw(5000), draw(5000));
      job.totals.stall_copy_ns = ~0ULL >> draw(20);
      jobs.push_back(std::move(job));
    }
    const std::size_t there = history.Due(At(now)) ? jobs.size() : 9;
    history.Observe(With(std::move(jobs)), At(now));
    std::size_t kept = 0;
    for (int id = 0; id < 9; ++id) {
      const std::string text = history.Json(JobId(id));
      if (text == "null") continue;
      ++kept;
      const auto json = nlohmann::json::parse(text);
      ASSERT_LE(json["granted_cores"].size(), 20u);
      for (std::size_t at = 0; at < json["granted_cores"].size(); ++at) {
        double sum = 0;
        for (const auto& [cause, list] : json["wait_share"].items()) {
          ASSERT_EQ(list.size(), json["granted_cores"].size());
          if (!list[at].is_null()) sum += list[at].get<double>();
        }
        ASSERT_LE(sum, 1.02) << "rounding of seven parts";
      }
    }
    ASSERT_LE(kept, std::min<std::size_t>(6, there));
  }
  history.Observe(With({}), At(now + 5));
  EXPECT_EQ(history.Last(JobId(1)), nullptr) << "a job that is gone is forgotten";
}

}  // namespace
}  // namespace headrace::web
