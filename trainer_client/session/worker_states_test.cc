#include "trainer_client/session/worker_states.h"

#include <map>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using State = Dispatcher::WorkerState;

constexpr WorkerId kOne{1}, kTwo{2}, kThree{3};
constexpr WorkerFacts kGood{.ready = true, .leased = true, .may_serve = true};

WorkerFacts With(bool WorkerFacts::*fact, bool value) {
  WorkerFacts facts = kGood;
  facts.*fact = value;
  return facts;
}

const WorkerFacts kUnfit = With(&WorkerFacts::unfit, true);
const WorkerFacts kResting = With(&WorkerFacts::resting, true);
const WorkerFacts kOnTrial = With(&WorkerFacts::may_serve, false);
const WorkerFacts kWithoutLease = With(&WorkerFacts::leased, false);
const WorkerFacts kNotThere = With(&WorkerFacts::ready, false);

TEST(StateOf, AlonePutsUpWithWhatIsThere) {
  EXPECT_EQ(StateOf(kGood, {{kOne, kGood}}), State::kReady);
  EXPECT_EQ(StateOf(kUnfit, {{kOne, kUnfit}}), State::kReady);  // its OSErrors are made again here
  EXPECT_EQ(StateOf(kResting, {{kOne, kResting}}), State::kReady);
  EXPECT_EQ(StateOf(kOnTrial, {{kOne, kOnTrial}}), State::kOnTrial);
  EXPECT_EQ(StateOf(kWithoutLease, {{kOne, kWithoutLease}}), State::kDraining);
}

TEST(StateOf, OneWhoseLinkIsNewIsNotAmongAll) {
  EXPECT_EQ(StateOf(kGood, {}), State::kReady);
  EXPECT_EQ(StateOf(kResting, {{kTwo, kGood}}), State::kDraining);
}

TEST(StateOf, OneThatRestsOrIsUnfitIsSparedWhereAPeerMayDoItsWork) {
  for (const WorkerFacts& facts : {kUnfit, kResting}) {
    EXPECT_EQ(StateOf(facts, {{kOne, facts}, {kTwo, kGood}}), State::kDraining);
  }
}

TEST(StateOf, APeerThatMayNotDoItIsNone) {
  for (const WorkerFacts& peer : {kUnfit, kOnTrial, kWithoutLease, kNotThere}) {
    EXPECT_EQ(StateOf(kResting, {{kOne, kResting}, {kTwo, peer}}), State::kReady);
    EXPECT_EQ(StateOf(kUnfit, {{kOne, kUnfit}, {kTwo, peer}}), State::kReady);
  }
  // Two that rest: one of them must not, though each has a peer.
  EXPECT_EQ(StateOf(kResting, {{kOne, kResting}, {kTwo, kResting}}), State::kReady);
  EXPECT_EQ(StateOf(kUnfit, {{kOne, kUnfit}, {kTwo, kResting}}), State::kDraining);
}

// Of all that three workers can be: where one has a lease and is ready, somebody makes batches.
TEST(StateOf, NeverLeavesASessionWithoutAWorkerThatCouldMakeItsBatches) {
  constexpr int kKinds = 1 << 5;
  const auto facts = [](int bits) {
    return WorkerFacts{.ready = (bits & 1) != 0,
                       .leased = (bits & 2) != 0,
                       .may_serve = (bits & 4) != 0,
                       .unfit = (bits & 8) != 0,
                       .resting = (bits & 16) != 0};
  };
  for (int bits = 0; bits < kKinds * kKinds * kKinds; ++bits) {
    const std::map<WorkerId, WorkerFacts> all = {{kOne, facts(bits % kKinds)},
                                                 {kTwo, facts(bits / kKinds % kKinds)},
                                                 {kThree, facts(bits / kKinds / kKinds)}};
    bool could = false, usable = false, makes = false;
    for (const auto& [id, each] : all) {
      could = could || (each.ready && each.leased && each.may_serve);
      usable = usable || each.usable();
    }
    for (const auto& [id, each] : all) {
      if (!each.ready) continue;
      const State state = StateOf(each, all);
      makes = makes || state == State::kReady;
      if (each.usable() && !each.resting) {
        EXPECT_EQ(state, State::kReady) << bits;
      }
      if (usable && each.unfit) {
        EXPECT_NE(state, State::kReady) << bits;
      }
    }
    EXPECT_EQ(makes, could) << bits;
  }
}

}  // namespace
}  // namespace headrace::client
