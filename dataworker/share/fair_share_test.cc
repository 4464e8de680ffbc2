#include "dataworker/share/fair_share.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

unsigned FairShareSeed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20260105U;
}

// Threads that run units of backlogged members, on a clock of its own.
class Machine {
 public:
  struct Job {
    Job(double its_weight, std::function<double()> cost_of)
        : member(its_weight), weight(its_weight), cost(std::move(cost_of)) {}
    FairShare::Member member;
    double weight;
    std::function<double()> cost;
    double used = 0;  // by units that have started
    double most = 0;  // of one unit
    int started = 0;
    double last_start = 0;
  };
  Machine(int threads, unsigned seed) : free_(threads), random(seed) {}

  Job& Add(double weight, std::function<double()> cost) {
    jobs.push_back(std::make_unique<Job>(weight, std::move(cost)));
    return *jobs.back();
  }
  // A job whose units cost about `mean`, from a hundredth to a hundred times that.
  Job& AddNoisy(double weight, double mean) {
    return Add(weight,
               [this, mean] { return mean * std::exp(std::clamp(noise_(random), -2.0, 2.0)); });
  }
  void Run(
      double until, const std::function<void()>& look = [] {}) {
    while (now < until) {
      while (free_ > 0) {
        FairShare::Member* first = share.First();
        if (first == nullptr) break;
        Begin(*std::find_if(jobs.begin(), jobs.end(),
                            [&](const auto& job) { return &job->member == first; }));
        look();
      }
      if (running_.empty()) return;
      const Running done = running_.top();
      running_.pop();
      now = done.end;
      ++free_;
      share.Settle(done.job->member, done.charged, done.cost);
    }
  }

  FairShare share;
  std::vector<std::unique_ptr<Job>> jobs;
  double now = 0;

 private:
  struct Running {
    double end;
    Job* job;
    double charged, cost;
    bool operator<(const Running& other) const { return end > other.end; }
  };
  void Begin(const std::unique_ptr<Job>& job) {
    const double cost = job->cost();
    const double charged = share.Start(job->member);
    job->used += cost;
    job->most = std::max(job->most, cost);
    ++job->started;
    job->last_start = now;
    running_.push({now + cost, job.get(), charged, cost});
    --free_;
  }
  int free_;
  std::priority_queue<Running> running_;
  std::normal_distribution<double> noise_;

 public:
  std::mt19937 random;
};

TEST(FairShare, BackloggedMembersGetTheirWeightsWhateverTheirUnitsCost) {
  for (unsigned round = 0; round < 8; ++round) {
    const unsigned seed = FairShareSeed() + round;
    SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
    std::mt19937 random(seed);
    const int threads = 1 + static_cast<int>(random() % 8);
    Machine machine(threads, seed);
    const std::size_t jobs = 2 + random() % 5;
    double weights = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      const double weight = 300 + static_cast<double>(random() % 3000);
      machine.AddNoisy(weight, std::pow(10, static_cast<double>(random() % 3)));
      weights += weight;
      machine.share.Activate(machine.jobs[i]->member);
    }
    // In the long run: everybody has used 150 times its largest unit.
    double used = 0;
    for (bool long_run = false; !long_run;) {
      machine.Run(machine.now + 1e5);
      used = 0;
      long_run = true;
      for (const auto& job : machine.jobs) {
        used += job->used;
        long_run = long_run && job->used > 150 * job->most;
      }
    }
    for (const auto& job : machine.jobs) {
      const double fair = job->weight / weights;
      EXPECT_NEAR(job->used / used / fair, 1, 0.02) << "weight " << job->weight;
    }
  }
}

TEST(FairShare, NobodyIsAheadByMoreThanWhatRunsAndOneUnit) {
  for (unsigned round = 0; round < 20; ++round) {
    const unsigned seed = FairShareSeed() + 100 + round;
    SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
    std::mt19937 random(seed);
    const int threads = 1 + static_cast<int>(random() % 8);
    Machine machine(threads, seed);
    for (int i = 0; i < 4; ++i) {
      const double mean = std::pow(10, static_cast<double>(random() % 4));
      machine.AddNoisy(100 + static_cast<double>(random() % 3000), mean).most = 8 * mean;
      machine.share.Activate(machine.jobs.back()->member);
    }
    machine.Run(1e5, [&] {
      for (const auto& a : machine.jobs) {
        for (const auto& b : machine.jobs) {
          ASSERT_LE(a->used / a->weight - b->used / b->weight,
                    (threads + 1) * (a->most / a->weight + b->most / b->weight));
        }
      }
    });
  }
}

TEST(FairShare, TheSmallestShareIsServedToo) {
  Machine machine(2, FairShareSeed());
  const Machine::Job& small = machine.Add(10, [] { return 5.0; });
  machine.Add(4000, [] { return 20.0; });
  for (const auto& job : machine.jobs) machine.share.Activate(job->member);
  double longest = 0;
  machine.Run(1e6, [&] { longest = std::max(longest, machine.now - small.last_start); });
  // 5 of cost each (10 + 4000) / 10 * 5 of both threads' time; the large one is ahead by one unit.
  EXPECT_LE(longest, 5 * 401.0 / 2 + 3 * 20);
  EXPECT_NEAR(small.used, 1e6 * 2 * 10 / 4010, 100);
}

TEST(FairShare, WhatOneLeavesTheOthersUseAtOnce) {
  Machine machine(2, FairShareSeed());
  Machine::Job& busy = machine.Add(1, [] { return 1.0; });
  Machine::Job& gone = machine.Add(1000, [] { return 1.0; });
  machine.share.Activate(busy.member);
  machine.share.Activate(gone.member);
  machine.Run(1000);
  machine.share.Deactivate(gone.member);
  const double before = busy.used;
  machine.Run(2000);
  EXPECT_GE(busy.used - before, 2 * 1000 - 2);  // both threads, all the time
}

TEST(FairShare, WhoWasIdleHasSavedNothingAndWhoRanAloneOwesNothing) {
  Machine machine(2, FairShareSeed());
  Machine::Job& busy = machine.Add(1, [] { return 1.0; });
  Machine::Job& late = machine.Add(1, [] { return 3.0; });
  machine.share.Activate(busy.member);
  machine.Run(1e5);
  const double before = busy.used;
  machine.share.Activate(late.member);
  machine.Run(1e5 + 100);
  EXPECT_NEAR(late.used, 100, 12);
  EXPECT_NEAR(busy.used - before, 100, 12);
}

TEST(FairShare, ChargesInAdvanceAreGivenBackButNotAsCredit) {
  FairShare share;
  FairShare::Member a(1), b(1);
  share.Activate(a);
  share.Settle(a, share.Start(a), 100);  // its mean
  const double charged = share.Start(a);
  EXPECT_EQ(charged, 100);
  share.Deactivate(a);
  share.Activate(b);
  for (int i = 0; i < 10; ++i) share.Settle(b, share.Start(b), 50);
  share.Activate(a);  // while its unit runs on
  share.Settle(a, charged, 0);
  share.Settle(b, share.Start(b), 50);
  EXPECT_EQ(share.First(), &a);
  share.Settle(a, share.Start(a), 180);
  EXPECT_EQ(share.First(), &b);  // and not a once more, for what it had not used
}

TEST(FairShare, WhatWasUsedElsewhereCountsUpToABound) {
  FairShare share;
  FairShare::Member a(1), b(1);
  share.Activate(a);
  share.Activate(b);
  share.Charge(a, 1e9, 10);
  double others = 0;
  while (share.First() == &b) {
    share.Settle(b, share.Start(b), 1);
    ++others;
  }
  EXPECT_GE(others, 10);
  EXPECT_LE(others, 12);
  share.Charge(a, 3, 10);
  share.Charge(b, 1, 10);
  EXPECT_EQ(share.First(), &b);
}

TEST(FairShare, PausedMembersArePassedOver) {
  FairShare share;
  FairShare::Member a(1), b(1);
  share.Activate(a, FairShare::Kind::kPausable);
  EXPECT_EQ(share.First(), &a);
  EXPECT_EQ(share.First(false), nullptr);
  share.Activate(b);
  EXPECT_EQ(share.First(false), &b);
  share.Settle(b, share.Start(b), 5);
  EXPECT_EQ(share.First(), &a);
  share.Activate(a);
  EXPECT_EQ(share.First(false), &a);
  share.Deactivate(a);
  share.Deactivate(b);
  EXPECT_EQ(share.First(), nullptr);
}

}  // namespace
}  // namespace headrace::dataworker
