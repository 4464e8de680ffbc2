#include "coordinator/scaling/recent_periods.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::coordinator {
namespace {

PeriodSum Second(double samples) {
  PeriodSum period;
  period.samples = period.reads = samples;
  period.times.step = 0.5;
  period.times.compute = 0.5;
  return period;
}

TEST(RecentPeriods, TellAfterFiveWithAboutTheSameCores) {
  RecentPeriods recent;
  for (std::size_t i = 0; i < RecentPeriods::kLeast; ++i) {
    EXPECT_FALSE(recent.Tell(4));
    recent.Add(Second(100), i % 2 == 0 ? 4 : 4.2);
  }
  EXPECT_TRUE(recent.Tell(4.1));
  EXPECT_FALSE(recent.Tell(5));
  recent.Add(Second(50), 5);
  EXPECT_FALSE(recent.Tell(5));
  EXPECT_EQ(recent.Sum().samples, 50);
}

TEST(RecentPeriods, TheErrorFallsWithTheirNumber) {
  RecentPeriods alike, differ;
  double before = 1;
  for (int i = 0; i < 20; ++i) {
    alike.Add(Second(100), 1);
    differ.Add(Second(i % 2 == 0 ? 80 : 120), 1);
    if (i % 4 != 3) continue;
    EXPECT_NEAR(alike.Error(), 0, 1e-6);
    EXPECT_LT(differ.Error(), before);
    before = differ.Error();
  }
  EXPECT_NEAR(differ.Error(), 0.2 * std::sqrt(2.0 / 20), 1e-6);  // of both speeds
}

TEST(RecentPeriods, AJobThatDoesSomethingElseIsAnotherOne) {
  RecentPeriods recent;
  for (int i = 0; i < 10; ++i) recent.Add(Second(1000), 1);
  recent.Add(Second(100), 1);
  recent.Add(Second(100), 1);
  EXPECT_TRUE(recent.Tell(1));
  recent.Add(Second(100), 1);
  EXPECT_FALSE(recent.Tell(1));
  EXPECT_EQ(recent.Sum().ready_rate(), 200);
}

TEST(RecentPeriods, PartsAddUp) {
  RecentPeriods recent;
  for (int i = 10; i < 40; ++i) recent.Add(Second(i), 1);
  const auto parts = recent.Parts();
  double samples = 0;
  for (const PeriodSum& part : parts) samples += part.samples;
  EXPECT_EQ(samples, recent.Sum().samples);
  EXPECT_EQ(samples, 20 * 29.5);  // the last twenty
  EXPECT_LT(parts.front().samples, parts.back().samples);
  EXPECT_NEAR(recent.Sum().ready_rate(), 59, 1e-9);
}

}  // namespace
}  // namespace headrace::coordinator
