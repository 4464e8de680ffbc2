#include "simulate/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "simulate/baseline/baseline.h"
#include "simulate/generate.h"
#include "simulate/simulate_test_util.h"

namespace headrace::simulate {
namespace {

Outcome RunWith(const Trace& trace, const Cluster& cluster, Scheduler& scheduler,
                CacheMode mode = CacheMode::kJoint, const EngineOptions& options = {}) {
  auto outcome = Simulate(trace, cluster, mode, options, scheduler);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *std::move(outcome) : Outcome{};
}

Outcome RunNamed(const Trace& trace, const Cluster& cluster, const std::string& name,
                 CacheMode mode = CacheMode::kJoint, const EngineOptions& options = {}) {
  if (auto baseline = MakeBaseline(name)) {
    BaselineScheduler scheduler(std::move(baseline), GpuOrder::kFifo);
    return RunWith(trace, cluster, scheduler, mode == CacheMode::kJoint ? CacheMode::kMinio : mode,
                   options);
  }
  PolicyScheduler scheduler(PolicyNamed(name));
  return RunWith(trace, cluster, scheduler, mode, options);
}

double FinishOf(const Outcome& outcome, std::size_t job) {
  for (const JobOutcome& each : outcome.jobs) {
    if (each.job == job) return each.finish_s;
  }
  return -1;
}

// One GPU, two jobs: the second waits for the first. 100 iterations of max(1 s, 2 core-s / 1 core).
TEST(Engine, TwoJobsOnOneGpu) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 2), TestJob(50, 10, 1, 0.5)};
  Cluster cluster;
  cluster.gpus = 1;
  EqualCores scheduler(1);
  const Outcome outcome = RunWith(trace, cluster, scheduler);
  EXPECT_NEAR(FinishOf(outcome, 0), 200, 1e-5);
  EXPECT_NEAR(FinishOf(outcome, 1), 210, 1e-5);
  EXPECT_NEAR(outcome.useful_gpu_s, 110, 1e-5);
  EXPECT_NEAR(outcome.held_gpu_s, 210, 1e-5);
  EXPECT_NEAR(outcome.core_s, 205, 1e-5);
  EXPECT_NEAR(outcome.end_s, 210, 1e-5);
  // It has one of the 3 cores of its GPU: half of its fair speed of an iteration a second.
  EXPECT_NEAR(outcome.jobs[0].fairness, 0.5, 1e-6);
  EXPECT_NEAR(outcome.jobs[1].start_s, 200, 1e-5);
}

TEST(Engine, SmallJobsPassOnesThatDoNotFit) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 0, 2), TestJob(1, 100, 1, 0, 4), TestJob(2, 10, 1, 0, 1)};
  Cluster cluster;
  cluster.gpus = 4;
  const Outcome outcome = RunNamed(trace, cluster, "fifo");
  EXPECT_NEAR(FinishOf(outcome, 2), 12, 1e-5);
  EXPECT_NEAR(FinishOf(outcome, 1), 200, 1e-5);
}

TEST(Engine, JobsThatNeverFitAreRefused) {
  Trace trace;
  trace.jobs = {TestJob(0, 1, 1, 0, 8), TestJob(0, 1, 1, 0, 1)};
  Cluster cluster;
  cluster.gpus = 4;
  const Outcome outcome = RunNamed(trace, cluster, "fifo");
  EXPECT_EQ(outcome.refused, std::vector<std::size_t>{0});
  EXPECT_EQ(outcome.jobs.size(), 1U);
}

// A job with 8 core-s a step of 1 s, and one with none, on 2 GPUs of 4 cores each. Alone a step
// takes 2 s; with the other's cores, 1 s.
TEST(Engine, CoresThatOneJobDoesNotNeedServeTheOther) {
  Trace trace;
  trace.jobs = {TestJob(0, 1000, 1, 8), TestJob(0, 5000, 1, 0.001)};
  Cluster cluster;
  cluster.gpus = 2;
  cluster.cpu_per_gpu = 4;
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "fixed"), 0), 2000, 1e-3);
  for (const char* name : {"fifo", "sjf", "max_min_fair", "utilization"}) {
    EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, name), 0), 1000, 2) << name;
  }
  // The light job keeps one of the 8 cores as its worker.
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "tfdata"), 0), 8000.0 / 7, 1e-3);
}

// Its input stays on its host: it has 4 cores, whatever else is free, and no other job may use
// them.
TEST(Engine, APinnedJobKeepsItsOwnCoresAlone) {
  Trace trace;
  trace.jobs = {TestJob(0, 1000, 1, 8), TestJob(0, 1000, 1, 8)};
  trace.jobs[0].separable = false;
  Cluster cluster;
  cluster.gpus = 2;
  cluster.cpu_per_gpu = 4;
  for (const char* name : {"utilization", "fixed", "tfdata"}) {
    const Outcome outcome = RunNamed(trace, cluster, name);
    EXPECT_NEAR(FinishOf(outcome, 0), 2000, 1e-3) << name;
    EXPECT_NEAR(FinishOf(outcome, 1), 2000, 5) << name;
    EXPECT_NEAR(outcome.timeline.front().granted_cores, 8, 1e-6)
        << name << ": of both, all there are";
  }
}

// When a pinned job is stopped, the next one can use its cores in the same round.
TEST(Engine, PinnedCoresMoveWithTheRounds) {
  Trace trace;
  for (int i = 0; i < 4; ++i) {
    trace.jobs.push_back(TestJob(0, 2000, 1, 8));
    trace.jobs.back().separable = i % 2 == 0;
  }
  Cluster cluster;
  cluster.gpus = 1;
  cluster.cpu_per_gpu = 4;
  BaselineScheduler scheduler(MakeFixed(), GpuOrder::kMaxMin);
  EXPECT_NEAR(RunWith(trace, cluster, scheduler, CacheMode::kMinio).end_s, 16000, 1500);
  EXPECT_NEAR(RunNamed(trace, cluster, "max_min_fair").end_s, 16000, 1500);
}

// Data of 100 bytes in samples of 1 byte, 10 a second without a limit. The source gives 5 bytes/s.
// With all of it cached, the first epoch takes 20 s and the nine others 10 s each.
TEST(Engine, ACacheCountsFromTheSecondEpochOn) {
  Trace trace;
  Job job = TestJob(0, 1000, 0.1, 0);
  job.dataset = 0;
  job.sample_bytes = job.entry_bytes = 1;
  trace.jobs = {job};
  trace.datasets = {{"d", 100}};
  Cluster cluster;
  cluster.gpus = 1;
  cluster.source_rate = 5;
  cluster.cache_bytes = 0;
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "utilization"), 0), 200, 1e-3);
  cluster.cache_bytes = 100;
  const Outcome all = RunNamed(trace, cluster, "utilization");
  EXPECT_NEAR(FinishOf(all, 0), 110, 1e-3);
  EXPECT_NEAR(all.remote_bytes, 100, 1e-3);
  EXPECT_NEAR(all.hit_bytes, 900, 1e-3);
  // A quarter is cached: misses of 7.5 bytes/s at full speed, so 5 / 0.75 samples/s.
  cluster.cache_bytes = 25;
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "utilization"), 0), 20 + 900 / (5 / 0.75), 1e-3);
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "fixed"), 0), 20 + 900 / (5 / 0.75), 1e-3);
  // The same under least-recently-used eviction.
  const double hit = coordinator::LruHit(25, 100);
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "fixed", CacheMode::kLru), 0),
              20 + 900 / (5 / (1 - hit)), 1e-3);
}

// The same data, where the cache keeps pixels: six bytes for one of the source. An epoch has as many
// samples as before.
TEST(Engine, EntriesMayBeLargerThanWhatIsReadForThem) {
  Trace trace;
  Job job = TestJob(0, 1000, 0.1, 0);
  job.dataset = 0;
  job.sample_bytes = 1;
  job.entry_bytes = 6;
  trace.jobs = {job};
  trace.datasets = {{"d", 600}};
  Cluster cluster;
  cluster.gpus = 1;
  cluster.source_rate = 5;
  cluster.cache_bytes = 600;
  const Outcome all = RunNamed(trace, cluster, "utilization");
  EXPECT_NEAR(FinishOf(all, 0), 110, 1e-3);
  EXPECT_NEAR(all.remote_bytes, 100, 1e-3);
  cluster.cache_bytes = 150;
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "utilization"), 0), 20 + 900 / (5 / 0.75), 1e-3);
  EXPECT_NEAR(FinishOf(RunNamed(trace, cluster, "fixed"), 0), 20 + 900 / (5 / 0.75), 1e-3);
}

// The same job: the cache's content takes effect in its second epoch, at 20 s.
TEST(Engine, QuotaContentAndEffectOfTheCacheAreRecorded) {
  Trace trace;
  Job job = TestJob(0, 1000, 0.1, 0);
  job.dataset = 0;
  job.sample_bytes = job.entry_bytes = 1;
  trace.jobs = {job, TestJob(0, 10, 1, 0)};
  trace.datasets = {{"d", 100}};
  Cluster cluster;
  cluster.gpus = 2;
  cluster.source_rate = 5;
  cluster.cache_bytes = 80;
  EXPECT_TRUE(RunNamed(trace, cluster, "utilization").cache.empty()) << "it was not asked for";
  EngineOptions options;
  options.record_cache = true;
  const Outcome outcome = RunNamed(trace, cluster, "utilization", CacheMode::kJoint, options);
  ASSERT_FALSE(outcome.cache.empty());
  const CachePoint& first = outcome.cache.front();
  EXPECT_NEAR(first.quota_bytes, 80, 1e-9);
  EXPECT_EQ(first.cached_bytes, 0);
  EXPECT_EQ(first.hit, 0);
  EXPECT_NEAR(first.wait, 0.5, 1e-9);
  for (const CachePoint& point : outcome.cache) {
    EXPECT_EQ(point.job, 0U) << "the other job reads no data";
    EXPECT_NEAR(point.hit, point.time_s < 20 - 1e-3 ? 0 : 0.8, 1e-3) << point.time_s;
  }
  EXPECT_NEAR(outcome.cache.back().cached_bytes, 80, 1e-6);
  EXPECT_NEAR(outcome.cache.back().wait, 0, 1e-9);
}

// After 100 s the trainer is four times as fast. Its controller asks for four times the cores
// within two periods. 100 + 900 / 4 steps of 1 s.
TEST(Engine, ARampIsFollowedWithinTwoPeriods) {
  Trace trace;
  trace.jobs = {TestJob(0, 1000, 1, 2)};
  trace.jobs[0].ramp = {{100, 4}};
  Cluster cluster;
  cluster.gpus = 1;
  cluster.cpu_per_gpu = 16;
  const Outcome outcome = RunNamed(trace, cluster, "utilization");
  EXPECT_LT(FinishOf(outcome, 0), 100 + 225 + 2);
  EXPECT_GE(FinishOf(outcome, 0), 100 + 225 - 1e-3);
}

// Back at its own speed the trainer needs two cores again, and gives the others back.
TEST(Engine, ARampDownGivesCoresBack) {
  Trace trace;
  trace.jobs = {TestJob(0, 1000, 1, 2)};
  trace.jobs[0].ramp = {{100, 4}, {200, 1}};
  Cluster cluster;
  cluster.gpus = 1;
  cluster.cpu_per_gpu = 16;
  const Outcome outcome = RunNamed(trace, cluster, "utilization");
  double most = 0;
  for (const TimelinePoint& point : outcome.timeline) most = std::max(most, point.granted_cores);
  EXPECT_GT(most, 7);
  EXPECT_LT(outcome.timeline.back().granted_cores, 3);
  EXPECT_LT(outcome.timeline.back().time_s, 260);
}

TEST(Engine, MaxMinTakesGpusAwayInRounds) {
  Trace trace;
  trace.jobs = {TestJob(0, 3600, 1, 0), TestJob(0, 3600, 1, 0)};
  Cluster cluster;
  cluster.gpus = 1;
  const Outcome outcome = RunNamed(trace, cluster, "max_min_fair");
  EXPECT_NEAR(outcome.end_s, 7200, 400);
  EXPECT_GT(outcome.jobs[0].preemptions + outcome.jobs[1].preemptions, 10);
  EXPECT_NEAR(FinishOf(outcome, 0), FinishOf(outcome, 1), 800);
}

// For every policy: all work is done and no more. No use exceeds its supply. Every job that fits
// ends, and none before its time at full speed.
TEST(Engine, NothingIsMadeAndNothingIsLost) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    GenerateOptions make;
    make.jobs = 80;
    make.seed = seed;
    make.gpus = 16;
    make.load = seed % 2 == 0 ? 0.7 : 2;
    make.vision = 0.6;
    make.large_datasets = seed % 3 == 0;
    const Trace trace = *Generate(make);
    Cluster cluster;
    cluster.gpus = 16;
    cluster.cache_bytes = seed > 2 ? 500e9 : 0;
    cluster.source_rate = seed > 3 ? 500e6 : coordinator::kUnlimited;
    for (const std::string name : {"fifo", "sjf", "max_min_fair", "utilization", "fixed", "synergy",
                                   "tfdata", "cachew", "pecan"}) {
      for (const CacheMode mode : {CacheMode::kJoint, CacheMode::kLru, CacheMode::kQuiver}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ' ' << name << ' ' << static_cast<int>(mode));
        EngineOptions options;
        options.noise = seed % 2 == 0 ? 0.05 : 0;
        const Outcome outcome = RunNamed(trace, cluster, name, mode, options);
        ASSERT_EQ(outcome.jobs.size(), trace.jobs.size());
        double useful = 0, core_s = 0, bytes = 0;
        for (const JobOutcome& each : outcome.jobs) {
          const Job& job = trace.jobs[each.job];
          const double least = job.iterations * job.step_s;
          EXPECT_GE(each.start_s, job.arrival_s);
          EXPECT_GE(each.finish_s - each.start_s, each.run_s * (1 - 1e-6) - 1e-3);
          EXPECT_GE(each.run_s, least * (1 - 1e-6) - 1e-3);
          EXPECT_NEAR(each.useful_gpu_s, least * job.gpus, 1e-5 * least * job.gpus + 1e-3);
          useful += least * job.gpus;
          core_s += job.iterations * job.input_core_s;
          if (job.dataset >= 0) bytes += job.samples() * job.sample_bytes;
        }
        EXPECT_NEAR(outcome.useful_gpu_s, useful, 1e-5 * useful);
        EXPECT_NEAR(outcome.core_s, core_s, 1e-5 * core_s);
        EXPECT_NEAR(outcome.hit_bytes + outcome.remote_bytes, bytes, 1e-5 * bytes);
        for (const TimelinePoint& point : outcome.timeline) {
          EXPECT_LE(point.useful_gpus, point.gpus * (1 + 1e-9));
          EXPECT_LE(point.gpus, cluster.gpus);
          EXPECT_LE(point.granted_cores, cluster.cores() * (1 + 1e-6));
          EXPECT_LE(point.cores, point.granted_cores * (1 + 1e-6));
          EXPECT_LE(point.cached_bytes, cluster.cache_bytes * (1 + 1e-9) + 1);
          EXPECT_LE(point.source_rate, cluster.source_rate * (1 + 1e-6));
        }
      }
    }
  }
}

// Gives more than there is, or nothing to anybody.
class Wrong final : public Scheduler {
 public:
  explicit Wrong(double cores) : cores_(cores) {}
  coordinator::Allocation Decide(const View& view) override {
    coordinator::Allocation allocation;
    allocation.jobs.resize(view.snapshot.jobs.size());
    for (auto& grant : allocation.jobs) {
      grant.admitted = cores_ > 0;
      grant.cores = cores_;
    }
    return allocation;
  }

 private:
  double cores_;
};

TEST(Engine, FaultsOfASchedulerAreErrors) {
  Trace trace;
  trace.jobs = {TestJob(0, 1, 1, 1)};
  Wrong greedy(1e6), idle(0);
  EXPECT_EQ(Simulate(trace, {}, CacheMode::kJoint, {}, greedy).status().code(), Code::kInternal);
  EXPECT_EQ(Simulate(trace, {}, CacheMode::kJoint, {}, idle).status().code(), Code::kInfeasible);
}

}  // namespace
}  // namespace headrace::simulate
