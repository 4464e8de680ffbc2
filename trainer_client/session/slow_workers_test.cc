#include "trainer_client/session/slow_workers.h"

#include <set>

#include "base/test_time.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr WorkerId kSlow{1}, kPeer{2}, kOther{3};
using Rules = SlowWorkers::Rules;

class SlowWorkersTest : public testing::Test {
 protected:
  // Ends so many windows, in each of which the workers make 10 batches and are late for so many.
  void Windows(int count, std::uint64_t slow_late, std::uint64_t peer_late = 0) {
    for (int i = 0; i < count; ++i) {
      workers_.Report(kSlow, 10 - slow_late, slow_late);
      workers_.Report(kPeer, 10 - peer_late, peer_late);
      now_ += rules_.window;
      workers_.EndWindow(usable_, now_);
    }
  }
  [[nodiscard]] bool Rests() const { return workers_.resting().contains(kSlow); }

  Rules rules_;
  SlowWorkers workers_{rules_};
  std::set<WorkerId> usable_ = {kSlow, kPeer};
  SteadyTime now_ = At(0);
};

TEST_F(SlowWorkersTest, OneThatIsLateForLongRests) {
  Windows(2, 6);
  EXPECT_FALSE(Rests()) << "not for long";
  Windows(1, 6);
  ASSERT_TRUE(Rests());
  EXPECT_EQ(workers_.resting().at(kSlow).until, now_ + rules_.first_rest);
  EXPECT_EQ(workers_.resting().at(kSlow).reason,
            "late for 60% of its batches, its peers for 0% of theirs");
}

TEST_F(SlowWorkersTest, ItIsCalledSlowUntilItHasBeenGoodForAsLong) {
  EXPECT_TRUE(workers_.slow().empty());
  Windows(3, 6);
  ASSERT_TRUE(Rests());
  EXPECT_EQ(workers_.slow().at(kSlow),
            "rests: late for 60% of its batches, its peers for 0% of theirs");
  now_ = workers_.resting().at(kSlow).until;
  Windows(1, 0);
  ASSERT_FALSE(Rests());
  EXPECT_EQ(workers_.slow().at(kSlow),
            "is tried again: late for 60% of its batches, its peers for 0% of theirs");
  Windows(1, 0);
  Windows(1, 6);
  Windows(2, 0);
  EXPECT_FALSE(workers_.slow().empty()) << "three windows in a row";
  Windows(1, 0);
  EXPECT_TRUE(workers_.slow().empty());
}

TEST_F(SlowWorkersTest, AGoodWindowBetweenBeginsTheCountAgain) {
  Windows(2, 6);
  Windows(1, 0);
  Windows(2, 6);
  EXPECT_FALSE(Rests());
}

TEST_F(SlowWorkersTest, WhereAllAreLateNobodyRests) {
  Windows(4, 6, 5);
  EXPECT_FALSE(Rests());
}

TEST_F(SlowWorkersTest, TheLastWorkerNeverRests) {
  usable_ = {kSlow};
  Windows(4, 6);
  EXPECT_FALSE(Rests());
}

TEST_F(SlowWorkersTest, AtMostOneMoreRestsAtATimeAndOneStays) {
  usable_ = {kSlow, kPeer, kOther};
  for (int i = 0; i < 9; ++i) {
    workers_.Report(kSlow, 2, 8);
    workers_.Report(kOther, 3, 7);
    workers_.Report(kPeer, 200, 0);
    now_ += rules_.window;
    workers_.EndWindow(usable_, now_);
    if (i == 2) {
      EXPECT_EQ(workers_.resting().size(), 1U);
    }
    EXPECT_FALSE(workers_.resting().contains(kPeer));
  }
}

TEST_F(SlowWorkersTest, ItComesBackAndRestsLongerWhenItIsStillSlow) {
  Windows(3, 6);
  ASSERT_TRUE(Rests());
  Duration before{};
  for (int i = 0; i < 8; ++i) {
    const Duration rest = workers_.resting().at(kSlow).until - now_;
    EXPECT_EQ(rest,
              std::min<Duration>(rules_.longest_rest, before * 2 + (i == 0 ? rest : Duration())));
    before = rest;
    now_ += rest;
    workers_.EndWindow(usable_, now_);
    ASSERT_FALSE(Rests()) << "its time has come";
    Windows(3, 6);
    ASSERT_TRUE(Rests());
  }
  EXPECT_EQ(before, rules_.longest_rest);
  // What was long ago is forgiven.
  now_ += rules_.longest_rest;
  Windows(40, 0);
  Windows(3, 6);
  EXPECT_EQ(workers_.resting().at(kSlow).until, now_ + rules_.first_rest);
}

TEST_F(SlowWorkersTest, FewBatchesSayNothing) {
  for (int i = 0; i < 9; ++i) {
    workers_.Report(kSlow, 0, rules_.least_late - 1);
    workers_.Report(kPeer, 10, 0);
    now_ += rules_.window;
    workers_.EndWindow(usable_, now_);
  }
  EXPECT_FALSE(Rests());
}

TEST_F(SlowWorkersTest, OneThatIsGoneIsForgotten) {
  Windows(3, 6);
  usable_ = {kPeer};
  Windows(1, 0);
  EXPECT_TRUE(workers_.resting().empty());
  EXPECT_FALSE(SlowWorkers({.windows = 0}).Due(now_ + rules_.window)) << "it is switched off";
}

}  // namespace
}  // namespace headrace::client
