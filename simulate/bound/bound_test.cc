#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "simulate/baseline/baseline.h"
#include "simulate/bound/fluid.h"
#include "simulate/bound/prices.h"
#include "simulate/generate.h"
#include "simulate/simulate_test_util.h"
#include "simulate/summary.h"

namespace headrace::simulate {
namespace {

// A cluster of `gpus` GPUs with `cores` cores each.
Cluster ClusterOf(int gpus, double cores) {
  Cluster cluster;
  cluster.gpus = gpus;
  cluster.cpu_per_gpu = cores;
  return cluster;
}

// The bound of prices is as near to the best ones as its search gets: within 2% from below, and never above.
void ExpectBound(const Trace& trace, const Cluster& cluster, double avg_jct_s) {
  const CompletionBound bound = BoundCompletion(NeedsOfJobs(trace, cluster));
  EXPECT_LE(bound.avg_jct_s, avg_jct_s * (1 + 1e-9));
  EXPECT_GE(bound.avg_jct_s, avg_jct_s * 0.98);
  EXPECT_GE(bound.at_most_s, bound.avg_jct_s * (1 - 1e-9));
}

TEST(CompletionBound, JobsOneAfterTheOtherOnOneGpu) {
  Trace trace;
  trace.jobs = {TestJob(0, 200, 1, 0), TestJob(0, 100, 1, 0)};
  ExpectBound(trace, ClusterOf(1, 1), (100 + 300) / 2.0);
}

TEST(CompletionBound, AShortJobThatComesLaterGoesFirst) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 0), TestJob(50, 10, 1, 0)};
  ExpectBound(trace, ClusterOf(1, 1), (110 + 10) / 2.0);
}

// Twice as many GPUs are no use to one job.
TEST(CompletionBound, AJobIsNoFasterThanItsTrainer) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 0)};
  ExpectBound(trace, ClusterOf(2, 1), 100);
  trace.jobs.assign(4, TestJob(0, 100, 1, 0));
  ExpectBound(trace, ClusterOf(2, 1), (100 + 100 + 200 + 200) / 4.0);
}

// Each of two jobs could use all four cores.
TEST(CompletionBound, CoresBindToo) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 4), TestJob(0, 100, 1, 4)};
  ExpectBound(trace, ClusterOf(2, 2), (100 + 200) / 2.0);
  // Twelve core-seconds a step: three seconds of all cores.
  trace.jobs = {TestJob(0, 100, 1, 12)};
  ExpectBound(trace, ClusterOf(2, 2), 300);
}

TEST(CompletionBound, PinnedWorkHasTheCoresOfItsOwnGpus) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 4)};
  trace.jobs[0].separable = false;
  ExpectBound(trace, ClusterOf(2, 2), 200);
}

// 1,000 samples of a byte, 10 a second at most, from a source of 5 bytes/s.
TEST(CompletionBound, TheSourceBindsWhereNothingIsCached) {
  Trace trace;
  Job job = TestJob(0, 1000, 0.1, 0);
  job.dataset = 0;
  job.sample_bytes = job.entry_bytes = 1;
  trace.jobs = {job};
  trace.datasets = {{"d", 100}};
  Cluster cluster = ClusterOf(1, 1);
  cluster.source_rate = 5;
  ExpectBound(trace, cluster, 200);
  // A quarter of its data fits. The source gives half of its speed and the cache a quarter. So three quarters of
  // it can run for 100 s, and the last one for 100 s more: that is the program's best mix. (No schedule is
  // better than 150 s: at two thirds of its speed, a quarter of what it reads is cached.)
  cluster.cache_bytes = 25;
  ExpectBound(trace, cluster, 0.75 * 100 + 0.25 * 200);
  cluster.cache_bytes = 100;
  ExpectBound(trace, cluster, 100);
}

// What others read of the same data may be in the cache.
TEST(CompletionBound, DataThatIsSharedCountsAsCached) {
  Trace trace;
  Job job = TestJob(0, 1000, 0.1, 0);
  job.dataset = 0;
  job.sample_bytes = job.entry_bytes = 1;
  trace.jobs = {job, job};
  trace.datasets = {{"d", 100}};
  Cluster cluster = ClusterOf(2, 1);
  cluster.source_rate = 5;
  cluster.cache_bytes = 1;
  ExpectBound(trace, cluster, 100);
}

// 100 steps a second each, four times as fast from 50 s on.
TEST(CompletionBound, PhasesOfATrainerTakeTheirTime) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 0)};
  trace.jobs[0].ramp = {{50, 4}};
  ExpectBound(trace, ClusterOf(1, 1), 50 + 50 / 4.0);
}

TEST(CompletionBound, JobsThatNeverFitDoNotCount) {
  Trace trace;
  trace.jobs = {TestJob(0, 1, 1, 0, 8), TestJob(0, 100, 1, 0)};
  ExpectBound(trace, ClusterOf(1, 1), 100);
  trace.jobs.pop_back();
  EXPECT_EQ(BoundCompletion(NeedsOfJobs(trace, ClusterOf(1, 1))).avg_jct_s, 0);
}

TEST(Prices, AJobRunsWhenThatIsCheapest) {
  Trace trace;
  trace.jobs = {TestJob(0, 10, 1, 0)};
  const std::vector<JobNeed> needs = NeedsOfJobs(trace, ClusterOf(1, 1));
  Prices prices = Prices::Zero({0, 10, 20});
  // It waits where that costs less than a second for each second: 10 s at 3 are dearer than 10 s later.
  prices.of[kOfGpus] = {3, 0};
  std::array<std::vector<double>, kResourceCount> used;
  EXPECT_DOUBLE_EQ(SumOfCompletions(needs, prices, &used), 20 - 30);
  EXPECT_THAT(used[kOfGpus], testing::ElementsAre(0, 10));
  prices.of[kOfGpus] = {0.5, 0};
  EXPECT_DOUBLE_EQ(SumOfCompletions(needs, prices, &used), 10 + 5 - 5);
  EXPECT_THAT(used[kOfGpus], testing::ElementsAre(10, 0));
  // It ends within an interval, where all that was dearer is replaced: 5 s at 2 for 5 s at 5.
  prices = Prices::Zero({0, 5, 15, 40});
  prices.of[kOfGpus] = {1, 5, 2};
  EXPECT_DOUBLE_EQ(SumOfCompletions(needs, prices, &used), 20 + 5 * 1 + 5 * 2 - (5 + 50 + 50));
  EXPECT_THAT(used[kOfGpus], testing::ElementsAre(5, 0, 5));
}

// 2 GPUs, 4 cores. A takes 100 s of all cores alone, B 100 s of one GPU. B comes 60 s later, C last.
TEST(UtilizationBound, FiguresByHand) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 4), TestJob(60, 100, 1, 0), TestJob(80, 10, 1, 4)};
  const Cluster cluster = ClusterOf(2, 2);
  const UtilizationBound bound = BoundUtilization(NeedsOfJobs(trace, cluster), 2);
  EXPECT_DOUBLE_EQ(bound.makespan_s, 160);
  EXPECT_DOUBLE_EQ(bound.gpu_util, 210 / 320.0);
  EXPECT_DOUBLE_EQ(bound.gpu_util_held, 1);
  // Until 80 s A does 80 s, and B 20.
  EXPECT_DOUBLE_EQ(bound.gpu_util_window, 100 / 160.0);
  // Two that need all cores each do no more together than one.
  trace.jobs = {TestJob(0, 100, 1, 4), TestJob(0, 100, 1, 4), TestJob(50, 1, 1, 4)};
  EXPECT_DOUBLE_EQ(BoundUtilization(NeedsOfJobs(trace, cluster), 2).gpu_util_window, 0.5);
  // Of the time that pinned work holds its GPU, half is useful.
  trace.jobs = {TestJob(0, 100, 1, 4)};
  trace.jobs[0].separable = false;
  const UtilizationBound pinned = BoundUtilization(NeedsOfJobs(trace, cluster), 2);
  EXPECT_DOUBLE_EQ(pinned.gpu_util_held, 0.5);
  EXPECT_EQ(pinned.gpu_util_window, 0) << "all arrive at once";
  EXPECT_EQ(BoundUtilization({}, 2).gpu_util, 0);
}

// No policy, order of GPUs, or cache betters a bound. HEADRACE_SEED gives the traces of another seed.
TEST(Bounds, NoPolicyBettersThem) {
  const char* given = std::getenv("HEADRACE_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + 4; ++seed) {
    GenerateOptions make;
    make.jobs = 40;
    make.seed = seed;
    make.gpus = 16;
    make.load = seed % 2 == 0 ? 0.7 : 2;
    make.vision = 0.7;
    make.large_datasets = seed % 3 == 0;
    make.private_datasets = seed % 2 == 0;
    Trace trace = *Generate(make);
    for (std::size_t i = 0; i < trace.jobs.size(); i += 7) trace.jobs[i].separable = false;
    for (std::size_t i = 3; i < trace.jobs.size(); i += 11) trace.jobs[i].ramp = {{100, 2}};
    Cluster cluster = ClusterOf(16, 3);
    cluster.cache_bytes = seed % 3 == 0 ? 2e12 : 0;
    cluster.source_rate = seed % 3 == 0 ? 500e6 : coordinator::kUnlimited;
    const Bounds bounds = BoundsOf(trace, cluster, {});
    const auto check = [&](Scheduler& scheduler, CacheMode mode, const std::string& name) {
      SCOPED_TRACE(testing::Message() << "HEADRACE_SEED=" << seed << ' ' << name);
      const auto outcome = Simulate(trace, cluster, mode, {}, scheduler);
      ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
      const Summary s = Summarise(trace, cluster, *outcome);
      EXPECT_GE(s.avg_jct_s, bounds.completion.avg_jct_s * (1 - 1e-6));
      EXPECT_GE(s.makespan_s, bounds.use.makespan_s * (1 - 1e-6));
      EXPECT_LE(s.gpu_util, bounds.use.gpu_util * (1 + 1e-6));
      EXPECT_LE(s.gpu_util_held, bounds.use.gpu_util_held * (1 + 1e-6));
      EXPECT_LE(s.gpu_util_window, bounds.use.gpu_util_window * (1 + 1e-6));
    };
    for (const GpuOrder order :
         {GpuOrder::kFifo, GpuOrder::kSjf, GpuOrder::kMaxMin, GpuOrder::kLeastWork,
          GpuOrder::kPacked, GpuOrder::kLeastService, GpuOrder::kLeastAttained, GpuOrder::kSia}) {
      // Each baseline meets another cache with each order.
      auto which = static_cast<std::size_t>(order);
      for (const std::string& name : BaselineNames()) {
        constexpr std::array kModes = {CacheMode::kLru, CacheMode::kMinio, CacheMode::kQuiver};
        BaselineScheduler scheduler(MakeBaseline(name), order);
        check(scheduler, kModes[which++ % kModes.size()], name);
      }
      for (const char* name : {"fifo", "sjf", "max_min_fair", "utilization"}) {
        OrderedPolicy scheduler(PolicyNamed(name), order);
        check(scheduler, CacheMode::kJoint, name);
      }
    }
    for (const char* name : {"fifo", "sjf", "max_min_fair", "utilization"}) {
      PolicyScheduler scheduler(PolicyNamed(name));
      check(scheduler, CacheMode::kJoint, name);
    }
  }
}

}  // namespace
}  // namespace headrace::simulate
