#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulate/engine.h"
#include "simulate/simulate_test_util.h"

// How long the cache takes to follow a trainer that becomes four times as fast, and slow again, beside
// one that stays as it is (bench/report/elastic.md).
namespace headrace::simulate {
namespace {

constexpr double kBytes = 100e9;                               // of each data set
constexpr double kCache = 150e9;                               // bytes, of both
constexpr double kSource = 60e6;                               // bytes/s
constexpr double kUp = 20'000, kDown = 40'000, kEnd = 60'000;  // s
constexpr double kSampleBytes = 1e5;
// Bytes/s that the first trainer takes, and four times that between the steps; and the other one.
constexpr double kSlow = 50e6, kSteady = 100e6;
// Part of the change from which on it counts as followed: the last entries of an epoch take long.
constexpr double kFollowed = 0.98;

struct Scene {
  std::string policy;
  bool fill = true;
  double noise = 0;
};

Job Reader(std::int32_t dataset, double bytes_per_second) {
  Job job = TestJob(0, 1, 1, 0);
  job.dataset = dataset;
  job.sample_bytes = job.entry_bytes = kSampleBytes;
  job.batch = bytes_per_second / kSampleBytes;
  job.input_core_s = 1e-4 * job.batch;
  job.hit_core_s = 1e-5 * job.batch;
  job.iterations = 1e9;
  return job;
}

Outcome Trained(const Scene& scene) {
  Trace trace;
  trace.datasets = {{"first", kBytes}, {"other", kBytes}};
  trace.jobs = {Reader(0, kSlow), Reader(1, kSteady)};
  trace.jobs[0].ramp = {{kUp, 4}, {kDown, 1}};
  // Both end after what is looked at.
  trace.jobs[0].iterations = 6 * kEnd;
  trace.jobs[1].iterations = 2 * kEnd;
  Cluster cluster;
  cluster.gpus = 2;
  cluster.cache_bytes = kCache;
  cluster.source_rate = kSource;
  EngineOptions options;
  options.fill = scene.fill;
  options.noise = scene.noise;
  options.most_periods = scene.noise > 0 ? 1'000'000 : options.most_periods;
  options.record_cache = true;
  PolicyScheduler scheduler(PolicyNamed(scene.policy));
  auto outcome = Simulate(trace, cluster, CacheMode::kJoint, options, scheduler);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *std::move(outcome) : Outcome();
}

std::vector<CachePoint> Of(const Outcome& outcome, std::size_t job) {
  std::vector<CachePoint> points;
  for (const CachePoint& each : outcome.cache) {
    if (each.job == job) points.push_back(each);
  }
  return points;
}
CachePoint At(const std::vector<CachePoint>& points, double time) {
  CachePoint last;
  for (const CachePoint& each : points) {
    if (each.time_s <= time) last = each;
  }
  return last;
}

// How a step at `from` was followed until `until`.
struct Follow {
  double fetched = 0;  // bytes that the data set that grew lacked
  double seconds = 0;
  double best = 0;  // what these bytes and the other's reads take of the whole source
  [[nodiscard]] double ratio() const { return seconds / best; }
};
std::optional<Follow> Following(const Outcome& outcome, double from, double until,
                                const double rates[2]) {
  for (std::size_t job = 0; job < 2; ++job) {
    const std::vector<CachePoint> own = Of(outcome, job), other = Of(outcome, 1 - job);
    const double before = At(own, from - 1).cached_bytes;
    const double after = At(own, until - 1).cached_bytes;
    Follow follow{.fetched = kFollowed * (after - before)};
    if (after - before < 0.02 * kBytes) continue;
    double last = from, misses = 0;
    for (const CachePoint& each : other) {
      if (each.time_s <= from || each.time_s > until) continue;
      const CachePoint then = At(other, last);
      misses += (each.time_s - last) * rates[1 - job] * (1 - then.wait) * (1 - then.hit);
      last = each.time_s;
      const CachePoint grown = At(own, each.time_s);
      if (grown.cached_bytes - before < follow.fetched) continue;
      follow.fetched = grown.cached_bytes - before;
      follow.seconds = each.time_s - from;
      break;
    }
    follow.best = (follow.fetched + misses) / kSource;
    return follow;
  }
  return std::nullopt;
}

class ElasticCache : public testing::TestWithParam<std::string> {};

constexpr double kFast[2] = {4 * kSlow, kSteady};
constexpr double kCalm[2] = {kSlow, kSteady};

// The best: the source is never idle until what has grown is there.
TEST_P(ElasticCache, FollowsAStepOfSpeedBothWays) {
  const Outcome outcome = Trained({.policy = GetParam()});
  for (const auto& [name, follow] : {std::pair("up", Following(outcome, kUp, kDown, kFast)),
                                     std::pair("down", Following(outcome, kDown, kEnd, kCalm))}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(follow.has_value());
    EXPECT_NEAR(follow->fetched, 48e9, 1.5e9);
    EXPECT_LE(follow->ratio(), 1.2) << follow->seconds << " s in place of " << follow->best;
    std::printf("%s %s: %.1f GB in %.0f s, %.2f of the best\n", GetParam().c_str(), name,
                follow->fetched / 1e9, follow->seconds, follow->ratio());
  }
}

// A cache that only its jobs' own reads fill is left behind where they are slow.
TEST_P(ElasticCache, WithoutFillsItIsSlower) {
  const Outcome with = Trained({.policy = GetParam()});
  const Outcome without = Trained({.policy = GetParam(), .fill = false});
  const auto down = Following(with, kDown, kEnd, kCalm);
  const auto alone = Following(without, kDown, kEnd, kCalm);
  ASSERT_TRUE(down && alone);
  EXPECT_GT(alone->seconds, 1.2 * down->seconds);
  std::printf("%s down, not filled: %.0f s, %.2f of the best\n", GetParam().c_str(), alone->seconds,
              alone->ratio());
}

// Measurements that vary by a twentieth move no quota but with a step.
TEST_P(ElasticCache, QuotasDoNotThrash) {
  const Outcome outcome = Trained({.policy = GetParam(), .noise = 0.05});
  double last = -1;
  int moves = 0;
  for (const CachePoint& each : Of(outcome, 0)) {
    if (each.time_s >= kEnd) break;
    if (last >= 0 && std::abs(each.quota_bytes - last) > 0.02 * kBytes) ++moves;
    last = each.quota_bytes;
  }
  EXPECT_LE(moves, 4);  // there, and back; each in one period or two
}

// One GPU, a cache for one data set, and jobs of two data sets in turns.
TEST(JobOrder, JobsWhoseDataIsCachedGoFirstAndReadLess) {
  Trace trace;
  trace.datasets = {{"first", kBytes}, {"other", kBytes}};
  for (int i = 0; i < 8; ++i) {
    Job job = Reader(i % 2, 2 * kSource);
    job.arrival_s = i;
    job.iterations = kBytes / kSource;  // two epochs
    trace.jobs.push_back(job);
  }
  Cluster cluster;
  cluster.gpus = 1;
  cluster.cache_bytes = kBytes;
  cluster.source_rate = kSource;
  std::vector<Outcome> outcomes;
  for (const bool shared : {false, true}) {
    cluster.shared_cache_first = shared;
    PolicyScheduler scheduler(PolicyNamed("fifo"));
    auto outcome = Simulate(trace, cluster, CacheMode::kJoint, {}, scheduler);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    outcomes.push_back(*std::move(outcome));
  }
  // Each data set is read once, not once for each of its jobs.
  EXPECT_NEAR(outcomes[0].remote_bytes, 8 * kBytes, 0.1 * kBytes);
  EXPECT_NEAR(outcomes[1].remote_bytes, 2 * kBytes, 0.1 * kBytes);
  EXPECT_GT(outcomes[0].end_s, 1.25 * outcomes[1].end_s);
}

INSTANTIATE_TEST_SUITE_P(Policies, ElasticCache,
                         testing::Values("fifo", "sjf", "max_min_fair", "utilization"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace headrace::simulate
