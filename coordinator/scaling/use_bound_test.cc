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

// Two reports in one period, and none in the next.
TEST(UseBound, ReportsOutOfStepAreEvenedOut) {
  UseBound bound;
  for (int i = 0; i < 12; ++i) bound.Add(i % 2 == 0 ? 2 : 0.001, 4, false, false);
  EXPECT_LT(bound.Most(), 4.1);
}

}  // namespace
}  // namespace headrace::coordinator
