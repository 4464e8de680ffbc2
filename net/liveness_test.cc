#include "net/liveness.h"

#include "base/ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Table = LivenessTable<WorkerId>;
using Change = Table::Change;

struct LivenessTest : ::testing::Test {
  FakeClock clock;
  Table table{{.suspect_after = seconds(3), .dead_after = seconds(10)}};
  const WorkerId one{1};
  const WorkerId two{2};

  std::vector<Change> Step(Duration by) {
    clock.Advance(by);
    return table.Step(clock.Now());
  }
};

TEST_F(LivenessTest, SilenceGoesByWayOfSuspectToDeadOnce) {
  table.Heard(one, clock.Now());
  EXPECT_THAT(Step(milliseconds(2999)), IsEmpty());
  EXPECT_THAT(Step(milliseconds(1)), ElementsAre(Change{one, Liveness::kSuspect}));
  EXPECT_THAT(Step(milliseconds(6999)), IsEmpty());
  EXPECT_THAT(Step(milliseconds(1)), ElementsAre(Change{one, Liveness::kDead}));
  EXPECT_THAT(Step(seconds(100)), IsEmpty());
  EXPECT_EQ(table.Of(one), Liveness::kDead);
}

TEST_F(LivenessTest, LongPauseGoesStraightToDead) {
  table.Heard(one, clock.Now());
  EXPECT_THAT(Step(seconds(60)), ElementsAre(Change{one, Liveness::kDead}));
}

TEST_F(LivenessTest, OneMessageMakesItAliveFromAnyState) {
  table.Heard(one, clock.Now());
  (void)Step(seconds(4));
  EXPECT_EQ(table.Heard(one, clock.Now()), Liveness::kSuspect);
  EXPECT_EQ(table.Of(one), Liveness::kAlive);
  (void)Step(seconds(11));
  EXPECT_EQ(table.Heard(one, clock.Now()), Liveness::kDead);
  EXPECT_THAT(Step(seconds(1)), IsEmpty());
  EXPECT_EQ(table.Silence(one, clock.Now()), seconds(1));
}

TEST_F(LivenessTest, PeersAreIndependent) {
  table.Heard(one, clock.Now());
  (void)Step(seconds(2));
  table.Heard(two, clock.Now());
  EXPECT_THAT(Step(seconds(2)), ElementsAre(Change{one, Liveness::kSuspect}));
  EXPECT_THAT(Step(seconds(8)),
              UnorderedElementsAre(Change{one, Liveness::kDead}, Change{two, Liveness::kDead}));
}

TEST_F(LivenessTest, ForgottenPeerIsNotReported) {
  table.Heard(one, clock.Now());
  table.Forget(one);
  EXPECT_THAT(Step(seconds(60)), IsEmpty());
  EXPECT_EQ(table.Of(one), Liveness::kDead);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(LivenessTest, MessageStampedLateDoesNotTurnTimeBack) {
  const SteadyTime earlier = clock.Now();
  clock.Advance(seconds(2));
  table.Heard(one, clock.Now());
  table.Heard(one, earlier);
  EXPECT_EQ(table.Silence(one, clock.Now()), Duration::zero());
}

}  // namespace
}  // namespace headrace::net
