#include "coordinator/scaling/pool_size.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;

class PoolSize : public testing::Test {
 protected:
  std::int32_t Second(double demand_cores) {
    now_ += seconds(1);
    const std::int32_t change = sizer_.Observe({demand_cores, 4, 2, members_}, now_);
    members_ += change;
    return change;
  }
  PoolSizer sizer_{{1, 10, seconds(60)}};
  SteadyTime now_{};
  std::int32_t members_ = 1;
};

TEST_F(PoolSize, GrowsAtOnceToWhatIsAskedFor) {
  // 15 cores are asked for, and 4 are there anyway: 6 members of 2.
  EXPECT_EQ(Second(15), 5);
  EXPECT_EQ(Second(15), 0);
}

TEST_F(PoolSize, StaysWithinItsBounds) {
  EXPECT_EQ(Second(1e9), 9);
  for (int i = 0; i < 200; ++i) Second(0);
  EXPECT_EQ(members_, 1);
}

TEST_F(PoolSize, GivesBackWhatWasNotNeededForAMinute) {
  Second(15);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(Second(7), 0);
  EXPECT_EQ(Second(7), -4);
  EXPECT_EQ(members_, 2);
}

TEST_F(PoolSize, ShortLullsCostNothing) {
  Second(15);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(Second(i % 50 == 49 ? 15 : 5), 0);
}

TEST_F(PoolSize, KeepsTheMostOfTheIdleTime) {
  Second(23);  // 10 members
  for (int i = 0; i < 61; ++i) Second(i == 30 ? 17 : 5);
  EXPECT_EQ(members_, 7);
}

TEST_F(PoolSize, NeverLeavesItsBoundsWhateverIsAsked) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    for (int i = 0; i < 200; ++i) {
      Second(std::uniform_real_distribution<double>(0, 60)(rng));
      ASSERT_GE(members_, 1) << "seed " << seed;
      ASSERT_LE(members_, 10) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace headrace::coordinator
