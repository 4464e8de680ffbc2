#include "coordinator/scaling/pool_trouble.h"

#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Status kQuotaIsUsedUp = ResourceExhausted("exceeded quota").WithDetail(Detail::kQuota);
const Status kFull = ResourceExhausted("2 queued: Resources").WithDetail(Detail::kNoRoom);

class PoolTroubleTest : public testing::Test {
 protected:
  [[nodiscard]] PoolTrouble::Told Told() const { return trouble_.Tell(clock_.Now()); }
  void Met(const Status& why) { trouble_.Met(why, clock_.Now()); }

  FakeClock clock_;
  PoolTrouble trouble_;
};

TEST_F(PoolTroubleTest, WhatIsMetAtEachTryStandsAndIsAsOldAsTheLastTry) {
  EXPECT_TRUE(Told().why.ok());
  EXPECT_FALSE(Told().stands);
  for (int i = 0; i < 10; ++i) {
    Met(kQuotaIsUsedUp);
    clock_.Advance(seconds(60));
    EXPECT_EQ(Told().why, kQuotaIsUsedUp);
    EXPECT_TRUE(Told().stands) << "the longest pause between two tries is a minute";
    EXPECT_EQ(Told().age, seconds(60));
  }
}

TEST_F(PoolTroubleTest, ItIsOverWhenAMemberComesAndIsStillTold) {
  Met(kQuotaIsUsedUp);
  trouble_.Came();
  clock_.Advance(minutes(1));
  EXPECT_FALSE(Told().stands);
  EXPECT_EQ(Told().why, kQuotaIsUsedUp);
  EXPECT_EQ(Told().age, minutes(1));
  Met(kQuotaIsUsedUp);
  EXPECT_TRUE(Told().stands) << "the next one";
}

TEST_F(PoolTroubleTest, ItIsOverWhenNobodyMeetsItAnyMore) {
  Met(kQuotaIsUsedUp);
  clock_.Advance(PoolTrouble::kStands - seconds(1));
  EXPECT_TRUE(Told().stands);
  clock_.Advance(seconds(1));
  EXPECT_FALSE(Told().stands) << "no worker is wanted any more, say";
}

TEST_F(PoolTroubleTest, AWantOfRoomHidesNothingThatNeedsAPerson) {
  Met(kFull);
  EXPECT_EQ(Told().why, kFull);
  Met(kQuotaIsUsedUp);
  Met(kFull);
  EXPECT_EQ(Told().why, kQuotaIsUsedUp);
  clock_.Advance(PoolTrouble::kStands);
  Met(kFull);
  EXPECT_EQ(Told().why, kFull);
  trouble_.Came();
  Met(kFull);
  EXPECT_TRUE(Told().stands);
}

}  // namespace
}  // namespace headrace::coordinator
