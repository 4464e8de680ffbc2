#include "dataworker/share/debt_bucket.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

unsigned Seed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20260106U;
}

double Seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr double kBurst = 0.1;  // seconds of the rate

struct Read {
  SteadyTime at;
  double bytes;
};

TEST(DebtBucket, NoStretchOfTimeHasMoreThanRateBurstAndOneRead) {
  for (unsigned round = 0; round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(Seed() + round) + " (--gtest_random_seed)");
    std::mt19937 random(Seed() + round);
    const double rate = std::pow(10, 2 + static_cast<int>(random() % 7));
    DebtBucket bucket;
    SteadyTime now{};
    bucket.SetRate(static_cast<std::uint64_t>(rate), now);
    std::vector<Read> reads;
    double largest = 0;
    for (int i = 0; i < 300; ++i) {
      // A read may begin as soon as it may, or later; its size is anything.
      now = bucket.ReadyAt(now);
      if (random() % 3 == 0) now += nanoseconds(random() % 500'000'000);
      ASSERT_EQ(bucket.ReadyAt(now), now);
      const double bytes = static_cast<double>(random() % 1000) * rate / 1000;
      bucket.Take(bytes, now);
      reads.push_back({now, bytes});
      largest = std::max(largest, bytes);
    }
    for (std::size_t from = 0; from < reads.size(); ++from) {
      double sum = 0;
      for (std::size_t to = from; to < reads.size(); ++to) {
        sum += reads[to].bytes;
        const double span = Seconds(reads[to].at - reads[from].at);
        ASSERT_LE(sum, rate * span + kBurst * rate + largest + 1);
      }
    }
  }
}

TEST(DebtBucket, WhoAlwaysReadsHasTheFullRate) {
  std::mt19937 random(Seed());
  SCOPED_TRACE("seed " + std::to_string(Seed()) + " (--gtest_random_seed)");
  DebtBucket bucket;
  SteadyTime now{};
  bucket.SetRate(1'000'000, now);
  double sum = 0;
  while (now < SteadyTime(seconds(100))) {
    const double bytes = static_cast<double>(random() % 200'000);
    bucket.Take(bytes, now);
    sum += bytes;
    // The timer is late, by less than the burst.
    now = bucket.ReadyAt(now) + milliseconds(random() % 50);
  }
  EXPECT_NEAR(sum, 1e8, 5e5);
}

TEST(DebtBucket, ANewRateHoldsFromNowOnAndTheDebtStays) {
  DebtBucket bucket;
  SteadyTime now{};
  EXPECT_EQ(bucket.ReadyAt(now), now);
  bucket.Take(1e9, now);  // without a limit nothing is counted
  bucket.SetRate(1000, now);
  EXPECT_EQ(bucket.ReadyAt(now), now);
  bucket.Take(1000, now);
  EXPECT_EQ(bucket.ReadyAt(now), now + seconds(1));
  now += milliseconds(500);
  bucket.SetRate(100, now);
  EXPECT_EQ(bucket.ReadyAt(now), now + seconds(5));
  bucket.SetRate(100, now);
  EXPECT_EQ(bucket.ReadyAt(now), now + seconds(5));
  EXPECT_EQ(bucket.InDebt(now), milliseconds(500));
  now += seconds(60);
  EXPECT_EQ(bucket.InDebt(now), milliseconds(5500));
  for (int i = 0; i < 100; ++i) {
    bucket.SetRate(0, now);
    bucket.SetRate(1'000'000, now);
  }
  bucket.Take(1, now);
  EXPECT_GT(bucket.ReadyAt(now), now);  // no burst came of it
}

TEST(DebtBucket, WhatWasTakenTooMuchComesBackAndFarDebtsAreAskedForAgain) {
  DebtBucket bucket;
  const SteadyTime now{};
  bucket.SetRate(1000, now);
  bucket.Take(500, now);
  bucket.Take(-400, now);
  EXPECT_EQ(bucket.ReadyAt(now), now + milliseconds(100));
  bucket.Take(-1e12, now);
  bucket.Take(101, now);  // no more than a burst was saved
  EXPECT_EQ(bucket.ReadyAt(now), now + milliseconds(1));
  bucket.Take(1e18, now);
  EXPECT_EQ(bucket.ReadyAt(now), now + DebtBucket::kHorizon);
}

}  // namespace
}  // namespace headrace::dataworker
