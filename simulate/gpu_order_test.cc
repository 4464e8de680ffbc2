#include "simulate/gpu_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "simulate/baseline/baseline.h"
#include "simulate/engine.h"
#include "simulate/generate.h"
#include "simulate/simulate_test_util.h"
#include "simulate/summary.h"

namespace headrace::simulate {
namespace {

double EndOf(const Outcome& outcome, std::size_t job) {
  for (const JobOutcome& each : outcome.jobs) {
    if (each.job == job) return each.finish_s;
  }
  return -1;
}

Outcome RunOrdered(const Trace& trace, const Cluster& cluster, GpuOrder order,
                   const EngineOptions& options = {}, const char* policy = "utilization") {
  OrderedPolicy scheduler(PolicyNamed(policy), order);
  auto outcome = Simulate(trace, cluster, CacheMode::kJoint, options, scheduler);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *std::move(outcome) : Outcome{};
}

// One GPU. The long job began first; the short one comes in the middle of a round of 360 s.
TEST(LeastWork, AShortJobTakesTheGpuAtTheNextRound) {
  Trace trace;
  trace.jobs = {TestJob(0, 10000, 1, 0), TestJob(100, 50, 1, 0)};
  Cluster cluster;
  cluster.gpus = 1;
  const Outcome outcome = RunOrdered(trace, cluster, GpuOrder::kLeastWork);
  EXPECT_NEAR(EndOf(outcome, 1), 360 + 50, 1e-3);
  // What it leaves between rounds is not left idle.
  EXPECT_NEAR(EndOf(outcome, 0), 10000 + 50, 1e-3);
  EXPECT_EQ(outcome.jobs[1].preemptions, 1);
}

// Both need 100 s of a GPU. One needs all cores for it too.
TEST(LeastWork, CoresCountAsGpusDo) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 3), TestJob(0, 100, 1, 0), TestJob(0, 150, 1, 0)};
  Cluster cluster;
  cluster.gpus = 1;
  const Outcome outcome = RunOrdered(trace, cluster, GpuOrder::kLeastWork);
  EXPECT_NEAR(EndOf(outcome, 1), 100, 1e-3);
  EXPECT_NEAR(EndOf(outcome, 2), 250, 1e-3)
      << "150 s of a GPU alone are less work than 100 of both";
  EXPECT_NEAR(EndOf(outcome, 0), 350, 1e-3);
}

TEST(LeastWork, WorkThatStaysOnItsHostCountsItsCores) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 3), TestJob(0, 150, 1, 0)};
  trace.jobs[0].separable = false;
  Cluster cluster;
  cluster.gpus = 1;
  EXPECT_NEAR(EndOf(RunOrdered(trace, cluster, GpuOrder::kLeastWork), 1), 150, 1e-3);
}

std::vector<std::size_t> Ordered(const std::vector<coordinator::JobView>& jobs, GpuOrder order,
                                 const std::vector<int>& stops = {}, double restart_s = 0) {
  coordinator::Snapshot snapshot;
  snapshot.tenants.resize(1);
  snapshot.jobs = jobs;
  Cluster cluster;
  const std::vector<double> none(jobs.size(), 0);
  return OrderOf({snapshot, cluster, none, none, none, stops, true, restart_s, 1000}, order);
}
coordinator::JobView Asks(int gpus, double samples, double received, bool running = false) {
  coordinator::JobView view;
  view.gpus = gpus;
  view.running = running;
  view.terms.ready_rate = 1;
  view.remaining_samples = samples;
  view.received = received;
  return view;
}

// Two GPUs, 6 cores, a floor of half: 1.5 cores a GPU. Each job wants all cores, so half of its floor's speed, a
// quarter, is no use. The light one runs at full speed with its floor.
std::vector<coordinator::JobView> HeavyAndLight() {
  std::vector jobs = {Asks(1, 100, 0), Asks(1, 200, 0), Asks(1, 900, 0)};
  for (coordinator::JobView& job : jobs) job.terms.miss_cost = 6;
  jobs[2].terms.miss_cost = 1;
  return jobs;
}
std::vector<std::size_t> Candidates(const std::vector<coordinator::JobView>& jobs, GpuOrder order,
                                    bool round = true, double gpu_quota = 2) {
  coordinator::Snapshot snapshot;
  snapshot.tenants.resize(1);
  snapshot.tenants[0].quota.gpus = gpu_quota;
  snapshot.jobs = jobs;
  Cluster cluster;
  cluster.gpus = 2;
  const std::vector<double> none(jobs.size(), 0);
  return CandidatesOf({snapshot, cluster, none, none, none, {}, round}, order);
}

TEST(Packed, GpusAreForThoseThatCanUseThem) {
  EXPECT_THAT(Candidates(HeavyAndLight(), GpuOrder::kLeastWork), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(Candidates(HeavyAndLight(), GpuOrder::kPacked), testing::ElementsAre(0, 2));
}

TEST(Packed, NobodyIsStoppedBetweenRounds) {
  std::vector jobs = HeavyAndLight();
  jobs[1].running = true;
  EXPECT_THAT(Candidates(jobs, GpuOrder::kPacked, false), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(Candidates(jobs, GpuOrder::kPacked, true), testing::ElementsAre(0, 2));
}

TEST(Packed, WhoGetsNoGpusLeavesItsCores) {
  std::vector jobs = HeavyAndLight();
  jobs[0].gpus = 3;  // more than there are
  jobs[0].remaining_samples = 10;
  EXPECT_THAT(Candidates(jobs, GpuOrder::kPacked), testing::ElementsAre(0, 1, 2));
  jobs[0].gpus = 2;  // more than its tenant may have
  EXPECT_THAT(Candidates(jobs, GpuOrder::kPacked, true, 1), testing::ElementsAre(0, 1, 2));
}

// Whatever the jobs ask for, the first in order can always run: no cluster stands idle while jobs wait.
TEST(Packed, TheFirstInOrderAlwaysRuns) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 draw(seed);
    const auto upto = [&](int most) { return static_cast<int>(draw() % most) + 1; };
    std::vector<coordinator::JobView> jobs;
    for (int n = upto(8); n > 0; --n) {
      jobs.push_back(Asks(upto(2), upto(1000), 0, draw() % 2 == 0));
      jobs.back().terms.miss_cost = upto(40) / 4.0;
    }
    SCOPED_TRACE(testing::Message() << "HEADRACE_SEED=" << seed);
    const auto order = Candidates(jobs, GpuOrder::kLeastWork);
    const auto users = Candidates(jobs, GpuOrder::kPacked);
    ASSERT_FALSE(users.empty());
    EXPECT_EQ(users.front(), order.front());
    EXPECT_TRUE(std::ranges::includes(
        order, users, {},
        [&](std::size_t i) { return std::ranges::find(order, i) - order.begin(); },
        [&](std::size_t i) { return std::ranges::find(order, i) - order.begin(); }));
  }
}

// One job has all cores, the other would wait for them: 100 s and 200 s, where both at half speed would take 200 s.
TEST(Packed, OneAfterTheOtherIsSooner) {
  Trace trace;
  trace.jobs = {TestJob(0, 100, 1, 6), TestJob(0, 100, 1, 6)};
  Cluster cluster;
  cluster.gpus = 2;
  const auto mean = [&](GpuOrder order) {
    return Summarise(trace, cluster, RunOrdered(trace, cluster, order)).avg_jct_s;
  };
  EXPECT_NEAR(mean(GpuOrder::kPacked), 150, 1);
  EXPECT_GT(mean(GpuOrder::kLeastWork), 165);
}

// Muri and Tiresias count GPUs and time together: 2 GPUs for 60 s are more than 1 for 100 s.
TEST(PublishedOrders, ServiceIsTimeTimesGpus) {
  const std::vector jobs = {Asks(2, 60, 0), Asks(1, 100, 50), Asks(4, 20, 30)};
  EXPECT_THAT(Ordered(jobs, GpuOrder::kLeastService), testing::ElementsAre(2, 1, 0));
  EXPECT_THAT(Ordered(jobs, GpuOrder::kLeastAttained), testing::ElementsAre(0, 2, 1));
  EXPECT_THAT(Ordered(jobs, GpuOrder::kSjf), testing::ElementsAre(2, 0, 1));
}

// The sum of Sia counts jobs, so the small ones come first. Of equal ones those come last that would be restored:
// after 1,000 s, (1000 - 2 * 50) / 1050 of the time of one that was stopped twice is left to it.
TEST(PublishedOrders, SiaCountsJobsAndWhatRestartsLose) {
  const std::vector jobs = {Asks(4, 10, 0), Asks(1, 10, 9), Asks(1, 10, 9), Asks(1, 10, 9, true),
                            Asks(1, 10, 0)};
  EXPECT_THAT(Ordered(jobs, GpuOrder::kSia, {0, 2, 1, 0, 0}, 50),
              testing::ElementsAre(3, 4, 2, 0, 1))
      << "0.1 for 4 GPUs is more than 1.1 - (900 / 1050)^-0.5 for one";
  EXPECT_THAT(Ordered(jobs, GpuOrder::kSia, {0, 2, 1, 0, 0}, 0),
              testing::ElementsAre(1, 2, 3, 4, 0))
      << "without a cost nothing is lost";
}

// A job that is stopped pays for its restart, and so nobody stops it for less than that.
TEST(Restart, CostsGpuTimeWithoutSteps) {
  Trace trace;
  trace.jobs = {TestJob(0, 10000, 1, 0), TestJob(100, 50, 1, 0)};
  Cluster cluster;
  cluster.gpus = 1;
  EngineOptions options;
  options.restart_s = 200;
  const Outcome outcome = RunOrdered(trace, cluster, GpuOrder::kLeastWork, options);
  EXPECT_NEAR(EndOf(outcome, 1), 360 + 50, 1e-3) << "it never ran before: no restart";
  EXPECT_NEAR(EndOf(outcome, 0), 10000 + 50 + 200, 1e-3);
  EXPECT_NEAR(outcome.held_gpu_s, 10250, 1e-3);
  EXPECT_NEAR(outcome.useful_gpu_s, 10050, 1e-3);
  // At the round of 360 s the first job has 290 s left, and would need 200 more if it were stopped now.
  trace.jobs = {TestJob(0, 650, 1, 0), TestJob(100, 150, 1, 0)};
  const Outcome kept = RunOrdered(trace, cluster, GpuOrder::kLeastWork, options);
  EXPECT_NEAR(EndOf(kept, 0), 650, 1e-3);
  EXPECT_NEAR(EndOf(kept, 1), 800, 1e-3);
}

TEST(Restart, EveryOrderThatTakesGpusAwayPays) {
  Trace trace;
  trace.jobs = {TestJob(0, 3600, 1, 1), TestJob(0, 3600, 1, 1)};
  Cluster cluster;
  cluster.gpus = 1;
  EngineOptions free, dear;
  dear.restart_s = 60;
  const auto lost = [&](Scheduler& scheduler, CacheMode mode) {
    const auto without = Simulate(trace, cluster, mode, free, scheduler);
    const auto with = Simulate(trace, cluster, mode, dear, scheduler);
    EXPECT_TRUE(without.ok() && with.ok());
    int stops = 0;
    for (const JobOutcome& each : with->jobs) stops += each.preemptions;
    EXPECT_GT(stops, 5);
    EXPECT_NEAR(with->held_gpu_s - with->useful_gpu_s, 60.0 * stops, 1e-3 * stops);
    EXPECT_NEAR(with->useful_gpu_s, without->useful_gpu_s, 1e-3);
    return with->end_s - without->end_s;
  };
  PolicyScheduler ours(PolicyNamed("max_min_fair"));
  EXPECT_GT(lost(ours, CacheMode::kJoint), 300);
  OrderedPolicy ordered(PolicyNamed("utilization"), GpuOrder::kMaxMin);
  EXPECT_GT(lost(ordered, CacheMode::kJoint), 300);
  BaselineScheduler baseline(MakeFixed(), GpuOrder::kMaxMin);
  EXPECT_GT(lost(baseline, CacheMode::kMinio), 300);
}

// An order that our policies have themselves gives what they give.
TEST(OrderedPolicy, ThePolicysOwnOrderChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    GenerateOptions make;
    make.jobs = 40;
    make.seed = seed;
    make.gpus = 16;
    make.load = 1.5;
    make.vision = 0.7;
    make.large_datasets = seed % 2 == 0;
    const Trace trace = *Generate(make);
    Cluster cluster;
    cluster.gpus = 16;
    cluster.cache_bytes = 500e9;
    cluster.source_rate = 500e6;
    for (const auto& [name, order] : {std::pair("utilization", GpuOrder::kFifo),
                                      std::pair("max_min_fair", GpuOrder::kMaxMin)}) {
      PolicyScheduler own(PolicyNamed(name));
      const auto expected = Simulate(trace, cluster, CacheMode::kJoint, {}, own);
      ASSERT_TRUE(expected.ok());
      const Outcome ordered = RunOrdered(trace, cluster, order, {}, name);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ' ' << name);
      EXPECT_NEAR(Summarise(trace, cluster, ordered).avg_jct_s,
                  Summarise(trace, cluster, *expected).avg_jct_s, 1e-6);
    }
  }
}

}  // namespace
}  // namespace headrace::simulate
