#include "coordinator/pool/ray/ray_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = RayEvent::Kind;
using State = PoolMember::State;

class RayLedgerTest : public testing::Test {
 protected:
  RayLedgerTest() { (void)List({}); }

  RayLedger::Outcome List(const std::vector<std::string>& names) {
    return ledger_.Take({.kind = Kind::kListed, .members = names}, now_);
  }
  RayLedger::Outcome Say(Kind kind, const std::string& member, const std::string& text = "") {
    return ledger_.Take({.kind = kind, .member = member, .text = text, .cpu_seconds = 2}, now_);
  }
  void Register(std::int64_t worker, const std::string& handle) {
    wire::WorkerInfo info;
    info.worker = WorkerId(worker);
    info.member = handle;
    ledger_.Registered(info, now_);
  }
  [[nodiscard]] std::vector<State> States() const {
    std::vector<State> states;
    for (const PoolMember& member : ledger_.List()) states.push_back(member.state);
    return states;
  }

  RayLedger ledger_{"p", 17, 3};
  SteadyTime now_{seconds(5)};  // a host that has just started
};

TEST_F(RayLedgerTest, AMemberGoesFromTheQueueToItsEnd) {
  EXPECT_THAT(*ledger_.Ask(2), ElementsAre("p.17.1", "p.17.2"));
  (void)Say(Kind::kQueued, "p.17.1", "no room");
  (void)Say(Kind::kRunning, "p.17.2", "n1");
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kStarting));
  EXPECT_EQ(ledger_.List()[0].note, "no room");
  EXPECT_EQ(ledger_.List()[0].why, Detail::kNoRoom);
  EXPECT_EQ(ledger_.List()[1].note, "on n1");
  Register(5, "p.17.2");
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kRunning));
  (void)Say(Kind::kQueued, "p.17.2", "late");
  EXPECT_EQ(ledger_.List()[1].note, "on n1");
  now_ += seconds(100);
  const auto outcome = Say(Kind::kEnded, "p.17.2", "ended with status 0");
  EXPECT_THAT(outcome.ended, ElementsAre(Pair(WorkerId(5), 2.0)));
  EXPECT_THAT(outcome.failed, IsEmpty());
  EXPECT_THAT(ledger_.List(), SizeIs(1));
}

TEST_F(RayLedgerTest, ThereIsRoomForSoManyAndNamesAreGivenOnce) {
  EXPECT_THAT(*ledger_.Ask(3), SizeIs(3));
  EXPECT_EQ(ledger_.Ask(1).status().code(), Code::kResourceExhausted);
  (void)Say(Kind::kEnded, "p.17.2");
  EXPECT_THAT(*ledger_.Ask(1), ElementsAre("p.17.4"));
}

TEST_F(RayLedgerTest, WhatEndsBeforeOrSoonAfterItRegistersIsAFailure) {
  ASSERT_THAT(*ledger_.Ask(3), SizeIs(3));
  auto outcome = Say(Kind::kEnded, "p.17.1", "ended with status 1: no key");
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(),
              testing::AllOf(HasSubstr("before it registered"), HasSubstr("no key")));
  Register(5, "p.17.2");
  now_ += RayLedger::kUseful - seconds(1);
  outcome = Say(Kind::kEnded, "p.17.2", "its node died");
  EXPECT_THAT(outcome.ended, SizeIs(1));
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(), HasSubstr("soon after"));
  outcome = Say(Kind::kRefused, "p.17.3", "ValueError: Invalid label");
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(), HasSubstr("Invalid label"));
  EXPECT_THAT(ledger_.List(), IsEmpty());
}

TEST_F(RayLedgerTest, ANodeThatIsTakenAwayLeavesRoomForAnother) {
  ASSERT_TRUE(ledger_.Ask(1).ok());
  Register(5, "p.17.1");
  (void)Say(Kind::kLeaving, "p.17.1", "its node is drained");
  EXPECT_THAT(States(), ElementsAre(State::kDraining));
  Register(5, "p.17.1");
  EXPECT_THAT(States(), ElementsAre(State::kDraining));
  EXPECT_THAT(Say(Kind::kEnded, "p.17.1").failed, IsEmpty());
}

// A helper that ends forgets nothing: the next one says what there is.
TEST_F(RayLedgerTest, AfterALostHelperWhatItDidNotStartIsAskedForAgain) {
  ASSERT_THAT(*ledger_.Ask(3), SizeIs(3));
  (void)Say(Kind::kRunning, "p.17.1", "n1");
  Register(5, "p.17.1");
  (void)Say(Kind::kRunning, "p.17.2", "n1");
  const auto outcome = List({"p.17.1"});
  EXPECT_THAT(outcome.start, ElementsAre("p.17.3"));
  ASSERT_THAT(outcome.failed, SizeIs(1)) << "p.17.2 had been started";
  EXPECT_THAT(States(), ElementsAre(State::kRunning, State::kQueued));
}

TEST_F(RayLedgerTest, ANameIsTheFirstWorkersAndNobodyElses) {
  ASSERT_TRUE(ledger_.Ask(1).ok());
  Register(5, "p.17.1");
  Register(6, "p.17.1");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(5));
  Register(6, "p.17.9");
  Register(6, "q.17.1");
  EXPECT_EQ(ledger_.Drain(WorkerId(6)).code(), Code::kNotFound);
  ledger_.Left(WorkerId(5));
  EXPECT_THAT(States(), ElementsAre(State::kDraining)) << "its process is still to be ended";
}

TEST_F(RayLedgerTest, WhatIsEndedWasStartedOrNot) {
  ASSERT_TRUE(ledger_.Ask(2).ok());
  (void)Say(Kind::kRunning, "p.17.1", "n1");
  EXPECT_EQ(ledger_.End("p.17.1"), std::optional(true));
  EXPECT_EQ(ledger_.End("p.17.2"), std::optional(false));
  EXPECT_EQ(ledger_.End("p.17.9"), std::nullopt);
  EXPECT_THAT(Say(Kind::kEnded, "p.17.2", "it was taken back").failed, IsEmpty());
}

TEST(RayLedger, ACoordinatorAfterThisOneHasWhatRayAndItsJournalTell) {
  RayLedger ledger("p", 18, 1000);
  const SteadyTime now(seconds(1));
  EXPECT_FALSE(ledger.ready());
  EXPECT_EQ(ledger.Ask(1).status().code(), Code::kUnavailable);
  for (const int worker : {5, 6}) {
    wire::WorkerInfo info;
    info.worker = WorkerId(worker);
    info.member = "p.17." + std::to_string(worker);
    ledger.Registered(info, now);
  }
  ASSERT_TRUE(ledger.Drain(WorkerId(6)).ok());
  const auto listed = ledger.Take(
      {.kind = Kind::kListed, .members = {"p.17.5", "p.17.6", "p.17.7", "other.17.1"}}, now);
  EXPECT_THAT(listed.start, IsEmpty());
  EXPECT_TRUE(ledger.ready());
  ASSERT_THAT(ledger.List(), SizeIs(3));
  EXPECT_EQ(ledger.List()[0].state, State::kRunning);
  EXPECT_EQ(ledger.List()[1].state, State::kDraining);
  EXPECT_EQ(ledger.List()[2].state, State::kQueued);
  EXPECT_THAT(ledger.Take({.kind = Kind::kEnded, .member = "p.17.5"}, now).failed, IsEmpty())
      << "it has worked before";
  EXPECT_THAT(*ledger.Ask(1), ElementsAre("p.18.1"));
}

// Whatever a helper tells in whatever order: each member that was asked for is listed, or its end was
// told, or its failure; and no name is given twice.
TEST(RayLedger, NoMemberIsForgottenOrCountedTwice) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  for (int round = 0; round < 200; ++round) {
    RayLedger ledger("p", 17, 20);
    SteadyTime now(seconds(5));
    std::set<std::string> given, there;  // there: in the cluster, as a helper would know
    std::set<std::string> over;          // whose end was told to the ledger
    (void)ledger.Take({.kind = Kind::kListed}, now);
    for (int turn = 0; turn < 60; ++turn) {
      now += seconds(draw(20));
      const std::string some = "p.17." + std::to_string(1 + draw(25));
      switch (draw(7)) {
        case 0: {
          const auto names = ledger.Ask(draw(4));
          if (!names.ok()) break;
          for (const std::string& name : *names) {
            EXPECT_TRUE(given.insert(name).second) << name;
            if (draw(5) > 0) there.insert(name);  // else the helper was lost before
          }
          break;
        }
        case 1:
          (void)ledger.Take({.kind = Kind::kRunning, .member = some, .text = "n"}, now);
          break;
        case 2: {
          const auto outcome = ledger.Take({.kind = Kind::kEnded, .member = some}, now);
          if (given.contains(some)) over.insert(some);
          there.erase(some);
          EXPECT_LE(outcome.failed.size(), 1U);
          break;
        }
        case 3: {
          const std::vector<PoolMember> before = ledger.List();
          const auto outcome =
              ledger.Take({.kind = Kind::kListed, .members = {there.begin(), there.end()}}, now);
          for (const PoolMember& member : before) {
            if (there.contains(member.handle)) continue;
            if (std::ranges::find(outcome.start, member.handle) != outcome.start.end()) {
              there.insert(member.handle);
            } else {
              over.insert(member.handle);
            }
          }
          break;
        }
        case 4: {
          wire::WorkerInfo info;
          info.worker = WorkerId(1 + draw(5));
          info.member = some;
          ledger.Registered(info, now);
          break;
        }
        case 5:
          ledger.Left(WorkerId(1 + draw(5)));
          break;
        default:
          (void)ledger.End(some);
          break;
      }
      std::set<std::string> listed;
      for (const PoolMember& member : ledger.List()) {
        EXPECT_TRUE(listed.insert(member.handle).second);
      }
      for (const std::string& name : given) {
        EXPECT_NE(listed.contains(name), over.contains(name)) << name << " in turn " << turn;
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace headrace::coordinator
