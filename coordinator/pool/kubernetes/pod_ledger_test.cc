#include "coordinator/pool/kubernetes/pod_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;
using Phase = PodSeen::Phase;

constexpr std::int64_t kEpoch = 1700;

class PodLedgerTest : public testing::Test {
 protected:
  PodLedgerTest() { (void)List({}); }

  PodLedger::Outcome List(const std::vector<PodSeen>& pods) {
    ledger_.ListingBegins();
    return ledger_.Listed(pods, now_);
  }
  static PodSeen Pod(const std::string& name, Phase phase, std::int64_t start = 0,
                     const std::string& reason = "") {
    return {.name = name,
            .uid = "u-" + name,
            .phase = phase,
            .node = phase == Phase::kPending ? "" : "n1",
            .reason = reason,
            .epoch = start > 0 ? kEpoch : kEpoch - 1,
            .start = start};
  }
  // The server makes one.
  void Make(const std::string& name) {
    ASSERT_TRUE(ledger_.Ask(1).ok());
    const auto start = ledger_.NextStart();
    ASSERT_TRUE(start.has_value());
    (void)ledger_.Created(*start, Pod(name, Phase::kPending, *start), now_);
  }
  void Register(std::int64_t worker, const std::string& member) {
    wire::WorkerInfo info;
    info.worker = WorkerId(worker);
    info.member = member;
    ledger_.Registered(info, now_);
  }
  [[nodiscard]] std::vector<State> States() const {
    std::vector<State> states;
    for (const PoolMember& member : ledger_.List()) states.push_back(member.state);
    return states;
  }

  PodLedger ledger_{kEpoch, 1000};
  SteadyTime now_{seconds(5)};
};

TEST_F(PodLedgerTest, AMemberGoesFromItsRequestToItsEnd) {
  Make("w-1");
  EXPECT_THAT(States(), ElementsAre(State::kQueued));
  (void)ledger_.Seen(Pod("w-1", Phase::kPending, 1, "Unschedulable: no cpu"), now_);
  EXPECT_EQ(ledger_.List()[0].note, "Unschedulable: no cpu");
  (void)ledger_.Seen(Pod("w-1", Phase::kRunning, 1), now_);
  EXPECT_THAT(States(), ElementsAre(State::kStarting));
  EXPECT_EQ(ledger_.List()[0].note, "w-1 on n1");
  Register(5, "w-1");
  EXPECT_THAT(States(), ElementsAre(State::kRunning));
  now_ += seconds(100);
  const auto outcome = ledger_.Seen(Pod("w-1", Phase::kEnded, 1), now_);
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(5)));
  EXPECT_THAT(outcome.failed, IsEmpty());
  ASSERT_THAT(outcome.remove, SizeIs(1)) << "its object is kept until somebody deletes it";
  EXPECT_EQ(outcome.remove[0].uid, "u-w-1");
  EXPECT_THAT(ledger_.List(), IsEmpty());
  EXPECT_THAT(ledger_.Gone(Pod("w-1", Phase::kEnded, 1), now_).ended, IsEmpty()) << "told once";
}

TEST_F(PodLedgerTest, FewRequestsAreOnTheirWayAtATime) {
  ASSERT_TRUE(ledger_.Ask(20).ok());
  std::size_t count = 0;
  while (ledger_.NextStart()) ++count;
  EXPECT_EQ(count, PodLedger::kMostOnTheirWay);
  EXPECT_THAT(ledger_.List(), SizeIs(20)) << "what is asked for is there for the coordinator";
  (void)ledger_.Created(1, Pod("w-1", Phase::kPending, 1), now_);
  EXPECT_TRUE(ledger_.NextStart().has_value());
}

TEST_F(PodLedgerTest, AWatchFasterThanTheAnswerCountsOnce) {
  ASSERT_TRUE(ledger_.Ask(1).ok());
  const std::int64_t start = *ledger_.NextStart();
  (void)ledger_.Seen(Pod("w-1", Phase::kRunning, start), now_);
  EXPECT_THAT(ledger_.List(), SizeIs(1));
  const auto gone = ledger_.Gone(Pod("w-1", Phase::kRunning, start), now_);
  EXPECT_THAT(gone.failed, SizeIs(1));
  (void)ledger_.Created(start, Pod("w-1", Phase::kPending, start), now_);
  EXPECT_THAT(ledger_.List(), IsEmpty()) << "the answer is older than the watch's word";
}

TEST_F(PodLedgerTest, ARefusalIsOfAllThatWaitAndALimitKeepsWhatCame) {
  ASSERT_TRUE(ledger_.Ask(20).ok());
  while (ledger_.NextStart()) continue;
  (void)ledger_.Created(1, Pod("w-1", Phase::kPending, 1), now_);
  const auto outcome = ledger_.Refused(2, ResourceExhausted("exceeded quota"));
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_EQ(outcome.failed[0].first, 13) << "itself, and the 12 that nobody has asked for";
  EXPECT_FALSE(ledger_.NextStart().has_value());
  EXPECT_THAT(ledger_.List(), SizeIs(7)) << "those on their way are answered one by one";
}

TEST_F(PodLedgerTest, WhatMayBeAskedAgainIsNotLost) {
  ASSERT_TRUE(ledger_.Ask(1).ok());
  const std::int64_t start = *ledger_.NextStart();
  ledger_.Again(start);
  EXPECT_THAT(ledger_.List(), SizeIs(1));
  EXPECT_NE(*ledger_.NextStart(), start) << "another request has another number";
  ledger_.Again(start);
  EXPECT_THAT(ledger_.List(), SizeIs(1));
}

TEST_F(PodLedgerTest, ARequestWithoutAnAnswerIsKnownByItsNumberOrFails) {
  ASSERT_TRUE(ledger_.Ask(3).ok());
  const std::int64_t one = *ledger_.NextStart(), two = *ledger_.NextStart();
  const std::int64_t three = *ledger_.NextStart();
  ledger_.ListingBegins();
  ledger_.Unanswered(one);
  ledger_.Unanswered(two);
  EXPECT_TRUE(ledger_.in_doubt());
  EXPECT_THAT(ledger_.Listed({}, now_).failed, IsEmpty()) << "that list had begun before";
  EXPECT_THAT(ledger_.List(), SizeIs(3));
  const auto outcome = List({Pod("w-1", Phase::kRunning, one)});
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_EQ(outcome.failed[0].first, 1);
  EXPECT_FALSE(ledger_.in_doubt());
  EXPECT_THAT(ledger_.List(), SizeIs(2)) << "one was made, and the third is on its way";
  // So late that a list had not seen it: one more than was asked for, which the coordinator sees.
  (void)ledger_.Seen(Pod("w-2", Phase::kRunning, two), now_);
  (void)ledger_.Created(three, Pod("w-3", Phase::kPending, three), now_);
  EXPECT_THAT(ledger_.List(), SizeIs(3));
}

TEST_F(PodLedgerTest, APodThatWasMadeAfterTheListHadBegunIsNotMissed) {
  ledger_.ListingBegins();
  Make("w-1");
  EXPECT_THAT(ledger_.Listed({}, now_).failed, IsEmpty());
  EXPECT_THAT(ledger_.List(), SizeIs(1));
  EXPECT_THAT(List({}).failed, SizeIs(1)) << "the next one must have it";
  EXPECT_THAT(ledger_.List(), IsEmpty());
}

TEST_F(PodLedgerTest, WhatOthersDeleteIsLeavingAndNoFailure) {
  Make("w-1");
  (void)ledger_.Seen(Pod("w-1", Phase::kRunning, 1), now_);
  Register(5, "w-1");
  PodSeen leaving = Pod("w-1", Phase::kRunning, 1);
  leaving.deleting = true;
  (void)ledger_.Seen(leaving, now_);
  EXPECT_THAT(States(), ElementsAre(State::kDraining)) << "so the coordinator asks for another now";
  const auto outcome = ledger_.Gone(leaving, now_);
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(5)));
  EXPECT_THAT(outcome.failed, IsEmpty());
}

TEST_F(PodLedgerTest, WhatEndsBeforeOrSoonAfterItRegistersIsAFailureWithItsLastWords) {
  Make("w-1");
  (void)ledger_.Seen(Pod("w-1", Phase::kRunning, 1), now_);
  auto outcome = ledger_.Seen(Pod("w-1", Phase::kEnded, 1, "Error, exit code 1: no key"), now_);
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(),
              AllOf(HasSubstr("w-1 on n1"), HasSubstr("before it registered"),
                    HasSubstr("exit code 1: no key")));
  Make("w-2");
  Register(6, "w-2");
  now_ += PodLedger::kUseful - seconds(1);
  outcome = ledger_.Gone(Pod("w-2", Phase::kRunning, 2), now_);
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(), HasSubstr("soon after"));
}

TEST_F(PodLedgerTest, ANameIsTheFirstWorkersAndNobodyElses) {
  Make("w-1");
  Register(5, "w-1");
  Register(6, "w-1");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(5));
  Register(6, "of-nobody");
  Register(6, "No Name");
  EXPECT_EQ(ledger_.Drain(WorkerId(7)).code(), Code::kNotFound);
  EXPECT_FALSE(ledger_.End("of-nobody").has_value());
  EXPECT_EQ(ledger_.End("w-1")->uid, "u-w-1");
  EXPECT_THAT(States(), ElementsAre(State::kDraining));
  ledger_.Left(WorkerId(5));
  EXPECT_THAT(States(), ElementsAre(State::kDraining)) << "its process is still to be ended";
}

TEST_F(PodLedgerTest, AWorkerFasterThanTheServersWordIsKnown) {
  Register(5, "w-1");
  Make("w-1");
  EXPECT_EQ(ledger_.List().at(0).worker, WorkerId(5));
  EXPECT_THAT(States(), ElementsAre(State::kRunning));
}

TEST(PodLedger, ACoordinatorAfterThisOneHasWhatTheListAndItsJournalTell) {
  PodLedger ledger(kEpoch + 100, 1000);
  EXPECT_FALSE(ledger.ready());
  EXPECT_EQ(ledger.Ask(1).code(), Code::kUnavailable);
  wire::WorkerInfo info;
  info.worker = WorkerId(5);
  info.member = "w-1";
  ledger.Registered(info, SteadyTime(seconds(1)));
  info.worker = WorkerId(6);
  info.member = "w-2";
  ledger.Registered(info, SteadyTime(seconds(1)));
  ASSERT_TRUE(ledger.Drain(WorkerId(6)).ok());
  ledger.ListingBegins();
  const SteadyTime now(seconds(2));
  const auto pod = [](const std::string& name, Phase phase) {
    return PodSeen{.name = name, .uid = "u", .phase = phase, .epoch = kEpoch, .start = 1};
  };
  const auto listed = ledger.Listed({pod("w-1", Phase::kRunning), pod("w-2", Phase::kRunning),
                                     pod("w-3", Phase::kEnded), pod("w-4", Phase::kPending)},
                                    now);
  EXPECT_THAT(listed.remove, SizeIs(1)) << "one that had ended meanwhile";
  EXPECT_TRUE(ledger.ready());
  ASSERT_THAT(ledger.List(), SizeIs(3));
  EXPECT_EQ(ledger.List()[0].state, State::kRunning);
  EXPECT_EQ(ledger.List()[1].state, State::kDraining);
  EXPECT_EQ(ledger.List()[2].state, State::kQueued);
  ledger.ListingBegins();
  const auto outcome = ledger.Listed({}, now);
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(5), WorkerId(6)));
  EXPECT_THAT(outcome.failed, SizeIs(1)) << "w-4 alone: the others have worked before";
}

}  // namespace
}  // namespace headrace::coordinator
