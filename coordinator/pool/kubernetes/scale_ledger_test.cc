#include "coordinator/pool/kubernetes/scale_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;
using Phase = PodSeen::Phase;

class ScaleLedgerTest : public testing::Test {
 protected:
  ScaleLedgerTest() {
    ledger_.Replicas(2);
    (void)ledger_.Listed({Pod("w-a"), Pod("w-b")});
    Register(1, "w-a");
    Register(2, "w-b");
  }
  static PodSeen Pod(const std::string& name, bool deleting = false) {
    return {.name = name, .uid = "u", .phase = Phase::kRunning, .deleting = deleting, .node = "n1"};
  }
  void Register(std::int64_t worker, const std::string& member) {
    wire::WorkerInfo info;
    info.worker = WorkerId(worker);
    info.member = member;
    ledger_.Registered(info);
  }
  [[nodiscard]] std::vector<State> States() const {
    std::vector<State> states;
    for (const PoolMember& member : ledger_.List()) states.push_back(member.state);
    return states;
  }

  ScaleLedger ledger_{10};
};

TEST_F(ScaleLedgerTest, GrowthIsANumberAndWhatIsNotThereYetIsListed) {
  EXPECT_EQ(ledger_.Wanted(), std::nullopt);
  ASSERT_TRUE(ledger_.Ask(2).ok());
  EXPECT_EQ(ledger_.Wanted(), 4);
  EXPECT_THAT(States(),
              ElementsAre(State::kRunning, State::kRunning, State::kQueued, State::kQueued));
  ledger_.Replicas(4);
  EXPECT_EQ(ledger_.Wanted(), std::nullopt);
  (void)ledger_.Seen(Pod("w-c"));
  EXPECT_THAT(ledger_.List(), SizeIs(4));
  EXPECT_EQ(ledger_.Ask(7).code(), Code::kResourceExhausted);
}

TEST_F(ScaleLedgerTest, AVictimIsMarkedBeforeThereIsOneFewer) {
  ASSERT_TRUE(ledger_.Drain(WorkerId(1)).ok());
  ASSERT_TRUE(ledger_.Drain(WorkerId(1)).ok()) << "once is enough";
  EXPECT_THAT(ledger_.TakeVictims(), ElementsAre("w-a"));
  EXPECT_THAT(ledger_.TakeVictims(), IsEmpty());
  EXPECT_EQ(ledger_.Wanted(), 1);
  ledger_.Replicas(1);
  EXPECT_THAT(States(), ElementsAre(State::kDraining, State::kRunning));
  (void)ledger_.Seen(Pod("w-a", true));
  EXPECT_THAT(ledger_.Gone(Pod("w-a")), ElementsAre(WorkerId(1)));
  EXPECT_THAT(States(), ElementsAre(State::kRunning));
}

TEST_F(ScaleLedgerTest, AnEngineThatTakesAnotherIsBelieved) {
  ASSERT_TRUE(ledger_.Drain(WorkerId(1)).ok());
  (void)ledger_.TakeVictims();
  ledger_.Replicas(1);
  (void)ledger_.Seen(Pod("w-b", true));
  EXPECT_THAT(ledger_.Gone(Pod("w-b")), ElementsAre(WorkerId(2)));
  ledger_.Left(WorkerId(1));
  Register(3, "w-a");
  EXPECT_THAT(States(), ElementsAre(State::kRunning))
      << "its container was started again, and stays";
}

TEST_F(ScaleLedgerTest, AContainerThatIsStartedAgainIsAnotherWorkerOfTheSamePod) {
  ledger_.Left(WorkerId(1));
  EXPECT_EQ(ledger_.List()[0].state, State::kStarting);
  Register(3, "w-a");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(3));
  EXPECT_EQ(ledger_.List()[0].state, State::kRunning);
  Register(4, "w-a");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(3)) << "one that lives keeps its place";
  ledger_.Lost(WorkerId(3));
  Register(4, "w-a");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(4));
}

TEST_F(ScaleLedgerTest, WhatTheEngineReplacesCountsAsComing) {
  (void)ledger_.Seen(Pod("w-a", true));  // a node is drained
  EXPECT_THAT(States(), ElementsAre(State::kDraining, State::kRunning, State::kQueued));
  EXPECT_EQ(ledger_.Wanted(), std::nullopt);
}

TEST_F(ScaleLedgerTest, ARefusedGrowthIsGivenUp) {
  ASSERT_TRUE(ledger_.Ask(3).ok());
  EXPECT_EQ(ledger_.Refused(), 3);
  EXPECT_EQ(ledger_.Wanted(), std::nullopt);
  EXPECT_THAT(ledger_.List(), SizeIs(2));
}

TEST(ScaleLedger, NothingIsSaidBeforeBothHalvesAreKnown) {
  ScaleLedger ledger(10);
  EXPECT_EQ(ledger.Ask(1).code(), Code::kUnavailable);
  (void)ledger.Listed({});
  EXPECT_FALSE(ledger.ready());
  ledger.Replicas(0);
  EXPECT_TRUE(ledger.ready());
  EXPECT_EQ(ledger.Wanted(), std::nullopt);
}

}  // namespace
}  // namespace headrace::coordinator
