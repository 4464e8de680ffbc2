#include "simulate/what_if/live_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulate/generate.h"
#include "simulate/simulate_test_util.h"
#include "simulate/summary.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 12;

// A cluster and its jobs, before the first of them has come.
LiveState FreshState(std::uint64_t seed) {
  GenerateOptions options;
  options.jobs = 40;
  options.seed = seed;
  options.gpus = 16;
  options.load = 1;
  options.vision = 0.5;
  options.large_datasets = seed % 3 == 0;
  options.private_datasets = seed % 2 == 0;
  LiveState state;
  state.trace = *Generate(options);
  state.policy = std::vector<std::string>{"utilization", "fifo", "sjf", "max_min_fair"}[seed % 4];
  state.cluster.gpus = 16;
  state.cluster.extra_cores = seed % 5 == 0 ? 8 : 0;
  state.cluster.cache_bytes = seed % 3 == 1 ? 0 : 5e11;
  if (seed % 2 == 0) state.cluster.source_rate = 5e8;
  if (seed % 7 == 0) state.cluster.floor = 0.75;
  state.start.time_s = state.trace.jobs[0].arrival_s;
  return state;
}

Result<Outcome> Train(const LiveState& state, double until_s = kUnlimited, Start* end = nullptr) {
  PolicyScheduler scheduler(PolicyNamed(state.policy));
  return SimulateFrom(state.start, until_s, end, state.trace, state.cluster, CacheMode::kJoint, {},
                      scheduler);
}

LiveState Again(const LiveState& state) {
  Result<LiveState> read = ReadLiveState("test", LiveStateJson(state));
  EXPECT_TRUE(read.ok()) << read.status().message();
  return *std::move(read);
}

// Where a state is after a part of the time that all of its jobs need.
LiveState After(const LiveState& state, double part) {
  const Result<Outcome> all = Train(state);
  LiveState then = state;
  const double end = all->end_s, from = state.start.time_s;
  EXPECT_TRUE(Train(state, from + part * (end - from), &then.start).ok());
  return WithoutEnded(then);
}

TEST(LiveState, ComesBackFromItsText) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LiveState state = After(FreshState(seed), 0.3);
    ASSERT_FALSE(state.trace.jobs.empty());
    state.trace.jobs[0].iterations = kUnlimited;
    state.trace.jobs[0].ramp = {{10, 2}, {20, 0.5}};
    state.trace.jobs[0].separable = false;
    state.start.jobs[0].source_rate = kUnlimited;
    state.cluster.tenants = {{"a", 2, {4, kUnlimited, 1e9, kUnlimited}}};
    state.cluster.link = 1e9;
    state.workers = {{"3 on node2", 4.5, 1e9, 2e8}};
    state.unmeasured = {"17"};
    const LiveState read = Again(state);
    EXPECT_EQ(LiveStateJson(read), LiveStateJson(state));
    EXPECT_EQ(read.start, state.start);
    EXPECT_EQ(read.workers, state.workers);
    EXPECT_EQ(read.unmeasured, state.unmeasured);
    EXPECT_EQ(read.cluster.source_rate, state.cluster.source_rate);
    EXPECT_EQ(read.cluster.floor, state.cluster.floor);
    EXPECT_EQ(read.trace.jobs[0].iterations, kUnlimited);
  }
}

TEST(LiveState, BeforeTheFirstJobItIsAnOrdinarySimulation) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const LiveState state = FreshState(seed);
    PolicyScheduler scheduler(PolicyNamed(state.policy));
    const Result<Outcome> ordinary =
        Simulate(state.trace, state.cluster, CacheMode::kJoint, {}, scheduler);
    const Result<Outcome> from_state = Train(Again(state));
    ASSERT_TRUE(ordinary.ok() && from_state.ok()) << from_state.status().message();
    EXPECT_EQ(JobsCsv(state.trace, *from_state), JobsCsv(state.trace, *ordinary));
    EXPECT_EQ(TimelineCsv(*from_state), TimelineCsv(*ordinary));
    EXPECT_EQ(from_state->first_arrival_s, ordinary->first_arrival_s);
    EXPECT_EQ(from_state->useful_gpu_s, ordinary->useful_gpu_s);
  }
}

TEST(LiveState, OfAnUnfinishedSimulationGoesOnAsThatWould) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const double part : {0.2, 0.5, 0.8}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", after " << part);
      const LiveState fresh = FreshState(seed);
      const LiveState then = Again(After(fresh, part));
      const Result<Outcome> whole = Train(fresh), rest = Train(then);
      ASSERT_TRUE(whole.ok() && rest.ok()) << rest.status().message();
      std::map<std::string, double> expected;
      for (const JobOutcome& each : whole->jobs) {
        expected[fresh.trace.jobs[each.job].id] = each.finish_s;
      }
      ASSERT_EQ(rest->jobs.size(), then.trace.jobs.size());
      double left = 0, off = 0;
      for (const JobOutcome& each : rest->jobs) {
        const double finish = expected[then.trace.jobs[each.job].id];
        EXPECT_GT(finish, then.start.time_s * (1 - 1e-9));
        left += finish - then.start.time_s;
        off += each.finish_s - finish;
      }
      // What controllers and rounds remember is not a part of a state.
      EXPECT_NEAR(off / left, 0, 0.005);
    }
  }
}

TEST(LiveState, AnEndlessJobRunsUntilTheOthersHaveEnded) {
  LiveState state;
  state.cluster.gpus = 2;
  state.cluster.cpu_per_gpu = 1;
  state.trace.jobs = {TestJob(0, 100, 1, 1), TestJob(0, kUnlimited, 1, 1)};
  state.start.jobs = {{.running = true, .done = 40}, {.running = true, .done = 7}};
  Start end;
  const Result<Outcome> outcome = Train(state, kUnlimited, &end);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  ASSERT_EQ(outcome->jobs.size(), 1U);
  EXPECT_NEAR(outcome->jobs[0].finish_s, 60, 1e-3);
  EXPECT_FALSE(end.jobs[1].ended);
  EXPECT_NEAR(end.jobs[1].done, 67, 1e-3);
  // Up to a moment, all run.
  ASSERT_TRUE(Train(state, 10, &end).ok());
  EXPECT_NEAR(end.jobs[0].done, 50, 1e-3);
  EXPECT_EQ(end.time_s, 10);
}

TEST(LiveState, WhatIsNotOneIsRefusedAndSaysWhere) {
  const LiveState good = FreshState(1);
  const auto wrong = [](const std::string& text) {
    const Result<LiveState> read = ReadLiveState("f.json", text);
    return read.ok() ? "" : read.status().message();
  };
  EXPECT_THAT(wrong("{"), HasSubstr("f.json: : expected an object"));
  EXPECT_THAT(wrong("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(wrong("{}"), HasSubstr("format: expected \"headrace state 1\""));
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = LiveStateJson(good);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, from.size(), to);
  };
  EXPECT_THAT(wrong(edited("\"gpus\": 16", "\"gpus\": 0.5")), HasSubstr("cluster.gpus: expected"));
  EXPECT_THAT(wrong(edited("\"separable\": true", "\"separable\": 1")),
              HasSubstr("jobs[0].separable: expected true or false"));
  EXPECT_THAT(wrong(edited("\"step_s\": ", "\"step_s\": -")), HasSubstr("jobs[0].step_s"));
  for (const char* name : {"step_s", "iterations"}) {
    const std::string named = std::string("\"") + name + "\"";
    EXPECT_THAT(wrong(edited(named, "\"other\"")), HasSubstr(std::string("jobs[0].") + name))
        << "there is no default that makes sense";
  }
  EXPECT_THAT(wrong(edited("\"datasets\": [", "\"datasets\": [{},")),
              HasSubstr("datasets[0].bytes"));
  EXPECT_THAT(wrong(edited("\"tenants\": []", "\"tenants\": [3]")),
              HasSubstr("cluster.tenants[0].: expected an object"));
}

TEST(LiveState, AStartThatDoesNotFitIsRefused) {
  LiveState state = FreshState(1);
  state.start.jobs.resize(1);
  EXPECT_THAT(Train(state).status().message(), HasSubstr("a start of 1 jobs, of 40"));
  state.start.jobs.assign(40, {.running = true});
  EXPECT_THAT(Train(state).status().message(), HasSubstr("runs before it arrives"));
  state.start.time_s = 1e9;
  EXPECT_THAT(Train(state).status().message(), HasSubstr("GPUs, of 16"));
  state.start.jobs.clear();
  state.start.cached_bytes.assign(state.trace.datasets.size(), 1e15);
  EXPECT_THAT(Train(state).status().message(), HasSubstr("more is cached"));
}

}  // namespace
}  // namespace headrace::simulate
