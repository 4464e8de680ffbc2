#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "coordinator/step_elastic_fixture.h"

// Identical programs that share one worker: the whole loop of reports, controllers, policy and placement.
namespace headrace::coordinator {
namespace {

class EqualJobsTest : public ElasticTest,
                      public testing::WithParamInterface<std::tuple<std::string, int, unsigned>> {
 protected:
  [[nodiscard]] static std::string policy() { return std::get<0>(GetParam()); }
  [[nodiscard]] static int jobs() { return std::get<1>(GetParam()); }
  [[nodiscard]] static unsigned seed() { return std::get<2>(GetParam()); }

  // Each could use three times the worker. They start `apart` seconds after one another.
  void Start(int apart) {
    cluster_.rules.plan.policy = policies_.Find(policy());
    Workers(1);
    for (int i = 0; i < jobs(); ++i) {
      for (int second = 0; i > 0 && second < apart; ++second) All();
      trainers_.push_back(Trainer("token-of-equal-job-" + std::to_string(i), 1200, 0.01));
      trainers_.back().rng.seed(seed() * 100 + static_cast<unsigned>(i));
      trainers_.back().noise = 0.1;
    }
  }
  void All() {
    std::vector<FakeTrainer*> all;
    for (FakeTrainer& each : trainers_) all.push_back(&each);
    Second(all);
  }

  std::deque<FakeTrainer> trainers_;
};

// Steps of their trainers are off by up to a tenth in each second, and differently in each job. Over the
// minute after the first one all make as many samples, within 5%, and none has far less in any second.
TEST_P(EqualJobsTest, MakeEqualSteps) {
  Start(3);
  for (int i = 0; i < 60; ++i) All();
  std::vector<double> before, grants(trainers_.size(), 0);
  for (const FakeTrainer& each : trainers_)
    before.push_back(static_cast<double>(each.load.samples));
  constexpr int kSeconds = 60;
  for (int second = 0; second < kSeconds; ++second) {
    All();
    for (std::size_t i = 0; i < trainers_.size(); ++i) {
      grants[i] += Cores(trainers_[i]);
      EXPECT_GT(Cores(trainers_[i]), 0.75 * 4 / jobs()) << "job " << i << ", second " << second;
    }
  }
  const auto ratio = [](const std::vector<double>& values) {
    const auto [least, greatest] = std::ranges::minmax(values);
    return greatest / least;
  };
  std::vector<double> made;
  for (std::size_t i = 0; i < trainers_.size(); ++i) {
    made.push_back(static_cast<double>(trainers_[i].load.samples) - before[i]);
  }
  EXPECT_LT(ratio(grants), 1.05);
  EXPECT_LT(ratio(made), 1.05);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EqualJobsTest,
                         testing::Combine(testing::Values("fifo", "sjf", "utilization",
                                                          "max_min_fair"),
                                          testing::Values(2, 3, 10), testing::Range(0U, 3U)));

// A worker whose host is busy: it gets a tenth of what it grants, and samples of all wait for its threads. Its jobs
// keep their shares: they have left nothing idle.
class BusyHostTest : public ElasticTest, public testing::WithParamInterface<std::string> {
 protected:
  void BusySecond() {
    constexpr double kGot = 0.1;
    cluster_.Advance(std::chrono::seconds(1));
    wire::WorkerHeartbeat beat;
    beat.worker = workers_[0];
    for (FakeTrainer& trainer : trainers_) {
      const double cores = kGot * Cores(trainer);
      trainer.Second(cores);
      trainer.load.batches = trainer.load.samples / 2;
      cluster_.Send(
          wire::ConsumerHeartbeat{1, trainer.job.job, trainer.job.consumer, {trainer.load}, {}});
      wire::JobUsage& usage = usage_[trainer.job.job];
      usage.job = trainer.job.job;
      usage.cpu_ns += static_cast<std::uint64_t>(cores * 1e9);
      usage.samples = trainer.load.samples;
      usage.queued_samples = 5;
      beat.usage.push_back(usage);
    }
    cluster_.Send(beat);
    cluster_.Tick();
  }
  std::deque<FakeTrainer> trainers_;
  std::map<JobId, wire::JobUsage> usage_;
};

TEST_P(BusyHostTest, TenEqualJobsKeepEqualShares) {
  cluster_.rules.plan.policy = policies_.Find(GetParam());
  Workers(1);
  for (int i = 0; i < 10; ++i) {
    trainers_.push_back(Trainer("token-of-equal-job-" + std::to_string(i), 1200, 0.002));
    trainers_.back().rng.seed(static_cast<unsigned>(i));
    trainers_.back().noise = 0.1;
    for (int second = 0; second < 3; ++second) BusySecond();
  }
  for (int second = 0; second < 60; ++second) BusySecond();
  for (int second = 0; second < 60; ++second) {
    BusySecond();
    for (const FakeTrainer& trainer : trainers_) {
      EXPECT_NEAR(Cores(trainer), 0.4, 0.02)
          << "job " << trainer.job.job.value << ", second " << second;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, BusyHostTest,
                         testing::Values("fifo", "sjf", "utilization", "max_min_fair"));

class SeesTheFloor final : public Policy {
 public:
  explicit SeesTheFloor(const Policy& policy) : policy_(policy) {}
  [[nodiscard]] std::string_view name() const override { return "sees_the_floor"; }
  [[nodiscard]] std::string_view summary() const override { return "for a test"; }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    floor = snapshot.floor;
    return policy_.Decide(snapshot);
  }
  mutable std::optional<double> floor;

 private:
  const Policy& policy_;
};

TEST_F(ElasticTest, TheOperatorsFloorReachesThePolicy) {
  const SeesTheFloor policy(*policies_.Find("utilization"));
  cluster_.rules.plan.policy = &policy;
  Workers(1);
  FakeTrainer trainer = Trainer("token-aaaa", 200, 0.01);
  Second({&trainer});
  EXPECT_FALSE(policy.floor.has_value()) << "the policy's own";
  cluster_.rules.plan.floor = 0.25;
  Second({&trainer});
  EXPECT_EQ(policy.floor, 0.25);
}

}  // namespace
}  // namespace headrace::coordinator
