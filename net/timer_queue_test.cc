#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/timer_queue_internal.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

struct TimerQueueTest : ::testing::Test {
  FakeClock clock;
  TimerQueue timers{clock};
  std::vector<int> ran;

  void Step(milliseconds by) {
    clock.Advance(by);
    timers.RunDue();
  }
};

TEST_F(TimerQueueTest, RunsInOrderOfDueTime) {
  timers.Add(milliseconds(20), Duration::zero(), [&] { ran.push_back(2); });
  timers.Add(milliseconds(10), Duration::zero(), [&] { ran.push_back(1); });
  EXPECT_EQ(timers.UntilNext(), milliseconds(10));
  Step(milliseconds(9));
  EXPECT_THAT(ran, ElementsAre());
  Step(milliseconds(11));
  EXPECT_THAT(ran, ElementsAre(1, 2));
  EXPECT_EQ(timers.UntilNext(), std::nullopt);
}

TEST_F(TimerQueueTest, LateTimerDoesNotRunInABurst) {
  timers.Add(milliseconds(10), milliseconds(10), [&] { ran.push_back(1); });
  Step(milliseconds(95));
  EXPECT_THAT(ran, ElementsAre(1));
  EXPECT_EQ(timers.UntilNext(), milliseconds(10));  // measured from the end of the late run
}

TEST_F(TimerQueueTest, NextIntervalBeginsWhenTheCallbackEnds) {
  timers.Add(milliseconds(10), milliseconds(10), [&] { clock.Advance(milliseconds(7)); });
  Step(milliseconds(10));
  EXPECT_EQ(timers.UntilNext(), milliseconds(10));
}

TEST_F(TimerQueueTest, CallbackMayCancelItselfAndOthers) {
  TimerId other = 0;
  TimerId self = 0;
  self = timers.Add(milliseconds(1), milliseconds(1), [&] {
    ran.push_back(1);
    timers.Cancel(self);
    timers.Cancel(other);
  });
  other = timers.Add(milliseconds(1), milliseconds(1), [&] { ran.push_back(2); });
  Step(milliseconds(1));
  Step(milliseconds(5));
  EXPECT_THAT(ran, ElementsAre(1));
}

TEST_F(TimerQueueTest, TimerAddedByACallbackWaitsForTheNextTurn) {
  timers.Add(Duration::zero(), Duration::zero(), [&] {
    timers.Add(Duration::zero(), Duration::zero(), [&] { ran.push_back(2); });
    ran.push_back(1);
  });
  Step(milliseconds(0));
  EXPECT_THAT(ran, ElementsAre(1));
  Step(milliseconds(0));
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

}  // namespace
}  // namespace headrace::net
