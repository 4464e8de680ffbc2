#include "coordinator/scaling/use_bound.h"

#include <gtest/gtest.h>

#include "coordinator/estimate/estimator.h"

namespace headrace::coordinator {
namespace {

TEST(UseBound, IsTwiceWhatIsUsedAndEightTimesWhatStarves) {
  UseBound bound;
  EXPECT_EQ(bound.Most(), kUnlimited) << "nothing is known yet";
  bound.Add(1, 4, false, false);
  EXPECT_NEAR(bound.Most(), 2, 1e-12);
  bound.Add(1, 4, true, false);
  EXPECT_NEAR(bound.Most(), 2, 1e-12) << "it says that it lacks cores, and leaves them idle";
  for (int i = 0; i < 3; ++i) bound.Add(1, 1, true, false);
  EXPECT_NEAR(bound.Most(), 8, 1e-12);
}

TEST(UseBound, WhatIsNotKnownOrExplainedSpeaksAgainstNobody) {
  for (const bool other : {false, true}) {
    UseBound bound;
    bound.Add(other ? 1 : 0, 4, false, other);
    bound.Add(1, 4, false, false);
    EXPECT_EQ(bound.Most(), kUnlimited);
    for (std::size_t i = 0; i < UseBound::kPoints; ++i) bound.Add(1, 4, false, false);
    EXPECT_NEAR(bound.Most(), 2, 1e-12) << "long ago";
    EXPECT_TRUE(bound.whole());
  }
}

// A worker whose host is busy uses little of what it was granted for anybody. Samples that wait there say so.
TEST(UseBound, WhatWaitsForAThreadWasNotLeftIdle) {
  UseBound bound;
  for (int i = 0; i < 5; ++i) bound.Add(0.01, 0.1, true, false, 1);
  EXPECT_NEAR(bound.Most(), 0.8, 1e-12);
  // Now and then there are some in any queue; and who does not wait lacks nothing.
  bound = {};
  for (int i = 0; i < 20; ++i) bound.Add(0.01, 0.1, true, false, i % 3 == 0 ? 1 : 0);
  EXPECT_NEAR(bound.Most(), 0.02, 1e-12);
  bound = {};
  for (int i = 0; i < 20; ++i) bound.Add(0.01, 0.1, false, false, 1);
  EXPECT_NEAR(bound.Most(), 0.02, 1e-12);
}

// Two reports in one period, and none in the next.
TEST(UseBound, ReportsOutOfStepAreEvenedOut) {
  UseBound bound;
  for (int i = 0; i < 12; ++i) bound.Add(i % 2 == 0 ? 2 : 0.001, 4, false, false);
  EXPECT_LT(bound.Most(), 4.1);
}

}  // namespace
}  // namespace headrace::coordinator
