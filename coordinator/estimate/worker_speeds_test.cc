#include "coordinator/estimate/worker_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

// Workers of known speeds, jobs of known costs, and who makes whose samples.
class World {
 public:
  World(std::vector<double> speeds, std::vector<double> costs, std::uint64_t seed, double noise = 0)
      : speeds_(std::move(speeds)), costs_(std::move(costs)), random_(seed), noise_(noise) {}

  // `cpu_s` of the worker on the job; part of the samples from the cache.
  void Work(std::size_t worker, std::size_t job, double hit = 0, double cpu_s = 1) {
    std::normal_distribution<double> error(0, 1);
    const double made = cpu_s * speeds_[worker] / costs_[job] / (hit * 0.2 + 1 - hit);
    const double cpu = cpu_s * std::exp(noise_ * error(random_));
    book_.Report(WorkerId(static_cast<std::int64_t>(worker)), JobId(static_cast<std::int64_t>(job)),
                 {.cpu_s = cpu, .hits = hit * made, .misses = (1 - hit) * made, .hit_worth = 0.2});
  }
  void Learn() { book_.Learn(1); }
  void SetSpeed(std::size_t worker, double speed) { speeds_[worker] = speed; }
  [[nodiscard]] double Learned(std::size_t worker) const {
    return book_.Learned(WorkerId(static_cast<std::int64_t>(worker)));
  }
  [[nodiscard]] double Used(std::size_t worker) const {
    return book_.Of(WorkerId(static_cast<std::int64_t>(worker)));
  }
  [[nodiscard]] std::mt19937_64& random() { return random_; }

 private:
  std::vector<double> speeds_, costs_;
  WorkerSpeeds book_;
  std::mt19937_64 random_;
  double noise_;
};

TEST(WorkerSpeeds, WithoutEvidenceAllAreEqual) {
  WorkerSpeeds book;
  EXPECT_EQ(book.Of(WorkerId(3)), 1);
  book.Learn(1);
  EXPECT_EQ(book.Learned(WorkerId(3)), 1);
}

TEST(WorkerSpeeds, AJobOfOneWorkerTellsNothing) {
  World world({3}, {0.004}, 1);
  for (int i = 0; i < 600; ++i) {
    world.Work(0, 0);
    world.Learn();
  }
  EXPECT_NEAR(world.Learned(0), 1, 1e-9);
}

// Each two neighbours share a job, some with one core-second in twenty alone. Some are served from caches.
TEST(WorkerSpeeds, RatiosAreLearnedBetweenAllWhoShareJobs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "HEADRACE_SEED=" << seed);
    std::mt19937_64 draw(seed);
    std::uniform_real_distribution<double> exponent(-1, 1);
    const std::size_t workers = 2 + draw() % 5;
    std::vector<double> speeds, costs, hits, parts;
    for (std::size_t w = 0; w < workers; ++w) {
      speeds.push_back(std::exp2(exponent(draw)));
      hits.push_back(draw() % 2 == 0 ? 0 : 0.8);
      parts.push_back(draw() % 2 == 0 ? 4 : 0.2);
    }
    for (std::size_t j = 0; j + 1 < workers; ++j) {
      costs.push_back(0.01 * std::exp2(3 * exponent(draw)));
    }
    World world(speeds, costs, seed, 0.05);
    for (int second = 0; second < 3600; ++second) {
      for (std::size_t j = 0; j < costs.size(); ++j) {
        world.Work(j, j, hits[j], parts[j]);
        world.Work(j + 1, j, hits[j + 1], 4);
      }
      world.Learn();
    }
    for (std::size_t w = 1; w < workers; ++w) {
      EXPECT_NEAR(world.Learned(w) / world.Learned(0) / (speeds[w] / speeds[0]), 1, 0.05)
          << "worker " << w << " of " << workers;
    }
  }
}

// What is used stays while what is learned wavers.
TEST(WorkerSpeeds, EqualWorkersStayEqual) {
  World world({1, 1, 1}, {0.01, 0.03}, 7, 0.1);
  for (int second = 0; second < 20000; ++second) {
    for (std::size_t w = 0; w < 3; ++w) world.Work(w, world.random()() % 2);
    world.Learn();
    for (std::size_t w = 0; w < 3; ++w) ASSERT_EQ(world.Used(w), 1) << "after " << second;
  }
}

TEST(WorkerSpeeds, AChangeIsFollowed) {
  World world({0.5, 1}, {0.01}, 1);
  const auto seconds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      world.Work(0, 0, 0, 4);
      world.Work(1, 0, 0, 4);
      world.Learn();
    }
  };
  seconds(60);
  EXPECT_LT(world.Used(0) / world.Used(1), 0.75) << "within a minute most of it";
  seconds(600);
  EXPECT_NEAR(world.Used(0) / world.Used(1), 0.5, 0.04);
  world.SetSpeed(0, 1);
  seconds(1800);
  EXPECT_NEAR(world.Used(0) / world.Used(1), 1, 0.06);
}

TEST(WorkerSpeeds, WhoHasGoneIsForgotten) {
  WorkerSpeeds book;
  for (const std::int64_t worker : {1, 2}) {
    book.Report(WorkerId(worker), JobId(1), {.cpu_s = 500, .misses = 100.0 * worker});
  }
  book.Learn(1);
  EXPECT_LT(book.Learned(WorkerId(1)), 0.9);
  book.Forget(WorkerId(1));
  EXPECT_EQ(book.Learned(WorkerId(1)), 1);
  book.Forget(JobId(1));
  for (int i = 0; i < 100; ++i) book.Learn(60);
  EXPECT_EQ(book.Learned(WorkerId(2)), 1) << "nothing tells any more";
}

TEST(WorkerSpeeds, NonsenseChangesNothing) {
  const double huge = std::numeric_limits<double>::infinity();
  WorkerSpeeds book;
  for (const CostReport& report :
       {CostReport{.cpu_s = 0, .misses = 1}, CostReport{.cpu_s = 1, .misses = 0},
        CostReport{.cpu_s = -1, .misses = 1}, CostReport{.cpu_s = huge, .misses = 1},
        CostReport{.cpu_s = 1, .misses = huge}, CostReport{.cpu_s = 1, .misses = -5}}) {
    book.Report(WorkerId(1), JobId(1), report);
  }
  book.Report(WorkerId(2), JobId(1), {.cpu_s = 100, .misses = 100});
  book.Learn(1);
  EXPECT_NEAR(book.Learned(WorkerId(2)), 1, 1e-9);
  for (int i = 0; i < 1000; ++i) {
    book.Report(WorkerId(1), JobId(1), {.cpu_s = 1, .misses = 1e12});
    book.Report(WorkerId(2), JobId(1), {.cpu_s = 1, .misses = 1e-12});
    book.Learn(1);
  }
  EXPECT_LE(book.Learned(WorkerId(1)), WorkerSpeeds::kMost);
  EXPECT_GE(book.Learned(WorkerId(2)), WorkerSpeeds::kLeast);
}

}  // namespace
}  // namespace headrace::coordinator
