#include "coordinator/pool/core/pool_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

class PoolWatchTest : public testing::Test {
 protected:
  PoolWatch::Verdict Look(const std::vector<PoolMember>& members, Duration later = seconds(0)) {
    now_ += later;
    return watch_.Observe(members, now_);
  }
  static PoolMember Member(const std::string& handle, State state, const std::string& note = "") {
    return {.state = state, .handle = handle, .note = note};
  }

  PoolWatch watch_{PoolPatience{}};
  SteadyTime now_{seconds(5)};
};

TEST_F(PoolWatchTest, EachStateHasItsPatience) {
  const PoolPatience patience;
  for (const auto& [state, time] :
       {std::pair{State::kQueued, patience.queued}, std::pair{State::kStarting, patience.starting},
        std::pair{State::kDraining, patience.draining}, std::pair{State::kLost, patience.lost}}) {
    watch_ = PoolWatch(patience);
    EXPECT_THAT(Look({Member("a", state)}).kill, IsEmpty());
    EXPECT_THAT(Look({Member("a", state)}, time - seconds(1)).kill, IsEmpty());
    EXPECT_THAT(Look({Member("a", state)}, seconds(1)).kill, ElementsAre("a"));
    EXPECT_THAT(Look({Member("a", state)}, seconds(1)).kill, IsEmpty()) << "it has been asked";
    EXPECT_THAT(Look({Member("a", state)}, PoolWatch::kAgain).kill, ElementsAre("a"));
  }
  for (const State state : {State::kRunning, State::kWaiting}) {
    Look({Member("a", state)});
    EXPECT_THAT(Look({Member("a", state)}, std::chrono::hours(1000)).kill, IsEmpty());
  }
}

TEST_F(PoolWatchTest, AnotherStateOrAnotherMemberBeginsAnew) {
  const PoolPatience patience;
  Look({Member("a", State::kLost)});
  Look({Member("a", State::kRunning)}, patience.lost - seconds(1));
  EXPECT_THAT(Look({Member("a", State::kLost)}, seconds(1)).kill, IsEmpty());
  EXPECT_THAT(Look({Member("b", State::kLost)}, patience.lost).kill, IsEmpty());
  EXPECT_THAT(Look({Member("a", State::kLost)}, patience.lost).kill, IsEmpty()) << "it was away";
}

TEST_F(PoolWatchTest, WhatNeverComesIsToldWithTheEnginesWord) {
  const std::vector<PoolMember> queued = {Member("a", State::kQueued, "QOSMaxCpuPerUserLimit"),
                                          Member("b", State::kQueued, "QOSMaxCpuPerUserLimit"),
                                          Member("c", State::kQueued, "Resources")};
  Look(queued);
  const auto verdict = Look(queued, std::chrono::hours(1));
  EXPECT_THAT(verdict.kill, ElementsAre("a", "b", "c"));
  ASSERT_THAT(verdict.failures, SizeIs(2)) << "one of each cause";
  EXPECT_EQ(verdict.failures[0].code(), Code::kResourceExhausted);
  EXPECT_THAT(verdict.failures[0].message(), HasSubstr("within 3600 s (QOSMaxCpuPerUserLimit)"));

  const auto started = Member("d", State::kStarting, "d on n3");
  Look({started});
  const auto mute = Look({started}, std::chrono::minutes(10));
  ASSERT_THAT(mute.failures, SizeIs(1));
  EXPECT_THAT(mute.failures[0].message(), HasSubstr("(d on n3) and did not register"));

  Look({Member("e", State::kDraining), Member("f", State::kLost)});
  EXPECT_THAT(
      Look({Member("e", State::kDraining), Member("f", State::kLost)}, std::chrono::minutes(5))
          .failures,
      IsEmpty())
      << "somebody knows of these already";
}

TEST_F(PoolWatchTest, AQueueIsSpokenOfOnceAndAgainWhenItChanges) {
  const std::vector<PoolMember> queued = {Member("a", State::kQueued, "Resources"),
                                          Member("b", State::kQueued, "Resources")};
  EXPECT_EQ(Look(queued).news, "");
  EXPECT_EQ(Look(queued, seconds(29)).news, "") << "most queues are short";
  EXPECT_EQ(Look(queued, seconds(1)).news, "pool: 2 queued: Resources");
  EXPECT_EQ(Look(queued, seconds(60)).news, "");
  EXPECT_EQ(Look({queued[0]}, seconds(60)).news, "pool: 1 queued: Resources");
  EXPECT_EQ(Look({}, seconds(1)).news, "");
}

TEST_F(PoolWatchTest, WhatLetsMembersWaitIsKnownByItsKind) {
  std::vector<PoolMember> members = {Member("a", State::kQueued, "Resources"),
                                     Member("b", State::kQueued, "ErrImagePull: not found"),
                                     Member("c", State::kQueued)};
  members[0].why = Detail::kNoRoom;
  members[1].why = Detail::kNoImage;
  EXPECT_TRUE(Look(members).waits.ok()) << "most queues are short";
  const Status waits = Look(members, PoolPatience{}.told).waits;
  EXPECT_EQ(waits.message(), "ErrImagePull: not found") << "it needs a person";
  EXPECT_EQ(waits.detail(), Detail::kNoImage);
  EXPECT_EQ(Look({members[0], members[2]}).waits.detail(), Detail::kNoRoom);
  EXPECT_TRUE(Look({members[2]}).waits.ok()) << "nobody says why";
  // It is started again and again, each time for a moment.
  PoolMember restarted = Member("d", State::kWaiting, "it ended: exit status 1");
  EXPECT_TRUE(Look({restarted}).waits.ok()) << "once is no trouble";
  restarted.why = Detail::kWorkersFail;
  EXPECT_EQ(Look({restarted}).waits.message(), "it ended: exit status 1");
}

TEST_F(PoolWatchTest, AFailureIsOfTheKindThatTheMemberHad) {
  PoolMember queued = Member("a", State::kQueued, "ErrImagePull");
  queued.why = Detail::kNoImage;
  Look({queued, Member("b", State::kQueued), Member("c", State::kStarting)});
  const auto verdict =
      Look({queued, Member("b", State::kQueued), Member("c", State::kStarting)}, seconds(3600));
  ASSERT_THAT(verdict.failures, SizeIs(3));
  EXPECT_EQ(verdict.failures[0].detail(), Detail::kNoImage);
  EXPECT_EQ(verdict.failures[1].detail(), Detail::kNoRoom);
  EXPECT_EQ(verdict.failures[2].detail(), Detail::kWorkersFail);
}

TEST_F(PoolWatchTest, AMemberWithoutAHandleIsLeftAlone) {
  Look({Member("", State::kQueued)});
  EXPECT_THAT(Look({Member("", State::kQueued)}, std::chrono::hours(2)).kill, IsEmpty());
}

}  // namespace
}  // namespace headrace::coordinator
