#include "trainer_client/stall/stall_meter.h"

#include <random>
#include <string>

#include "base/test_time.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using std::chrono::milliseconds;

// Its answer came at `ready`, after work that took all the time.
BatchTimeline Computed(std::int64_t ready) {
  BatchTimeline timeline;
  timeline.arrived = timeline.ready = At(ready);
  timeline.worker.wall = timeline.arrived - timeline.sent;
  timeline.worker.compute = timeline.worker.wall;
  return timeline;
}

TEST(StallMeter, PauseBetweenIterationsIsNoStep) {
  StallMeter meter;
  meter.EnterNext(At(0));
  meter.LeaveNext(At(10));  // 10 ms stall
  meter.EnterNext(At(30));  // 20 ms step
  meter.LeaveNext(At(31));  // 1 ms stall
  meter.Restart();
  meter.EnterNext(At(1000));
  meter.LeaveNext(At(1002));  // 2 ms stall
  EXPECT_EQ(meter.wait(At(1002)).Sum(), milliseconds(13));
  EXPECT_EQ(meter.step(), milliseconds(20));
}

TEST(StallMeter, EveryPartOfNextHasItsCause) {
  StallMeter meter;
  meter.EnterNext(At(0));
  meter.EnterSampler(At(1));  // 1 ms of its own
  meter.LeaveSampler(At(5));  // 4 ms sampler
  meter.BeginWait(At(7));     // 2 ms of its own
  meter.EndWait(At(30), Computed(27));
  meter.LeaveNext(At(35));  // 5 ms of its own
  const WaitByCause wait = meter.wait(At(100));
  EXPECT_EQ(wait[WaitCause::kSampler], milliseconds(4));
  EXPECT_EQ(wait[WaitCause::kCompute], milliseconds(20));
  EXPECT_EQ(wait[WaitCause::kCopy], milliseconds(1 + 2 + 3 + 5));
  EXPECT_EQ(wait.Sum(), milliseconds(35));
}

TEST(StallMeter, SamplerOutsideOfNextIsNoWait) {
  StallMeter meter;
  meter.EnterSampler(At(0));
  meter.LeaveSampler(At(50));
  EXPECT_FALSE(meter.inside());
  EXPECT_EQ(meter.wait(At(60)).Sum(), Duration{});
}

TEST(StallMeter, TheBatchExplainsAllWaitsForIt) {
  StallMeter meter;
  meter.EnterNext(At(0));
  meter.BeginWait(At(0));
  meter.BeginWait(At(4));   // again, after a timeout
  meter.PauseWait(At(10));  // a sample to make
  meter.BeginWait(At(15));
  EXPECT_EQ(meter.wait(At(16))[WaitCause::kQueue], milliseconds(11)) << "not known yet";
  meter.EndWait(At(20), Computed(20));
  meter.LeaveNext(At(20));
  EXPECT_EQ(meter.wait(At(20))[WaitCause::kCompute], milliseconds(15));
  EXPECT_EQ(meter.wait(At(20))[WaitCause::kCopy], milliseconds(5));
}

TEST(StallMeter, AWaitThatRaisedIsExplainedByTheBatchThatComesAfterAll) {
  StallMeter meter;
  meter.EnterNext(At(0));
  meter.BeginWait(At(0));
  meter.LeaveNext(At(10));
  meter.EnterNext(At(15));
  meter.BeginWait(At(15));
  meter.EndWait(At(20), Computed(20));
  meter.LeaveNext(At(20));
  EXPECT_EQ(meter.wait(At(20))[WaitCause::kCompute], milliseconds(15));
  EXPECT_EQ(meter.step(), milliseconds(5));
}

TEST(StallMeter, AWaitForABatchThatNeverCameWasForAWorker) {
  StallMeter meter;
  meter.EnterNext(At(0));
  meter.BeginWait(At(0));
  meter.LeaveNext(At(10));
  meter.Restart();
  meter.EnterNext(At(20));
  meter.BeginWait(At(20));
  meter.EndWait(At(21), Computed(21));
  meter.LeaveNext(At(21));
  EXPECT_EQ(meter.wait(At(21))[WaitCause::kQueue], milliseconds(10));
  EXPECT_EQ(meter.wait(At(21))[WaitCause::kCompute], milliseconds(1));
}

class Random {
 public:
  Random() : seed_(std::random_device()()), engine_(seed_) {}
  [[nodiscard]] std::string trace() const { return "seed " + std::to_string(seed_); }
  std::int64_t Below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(engine_);
  }

 private:
  unsigned seed_;
  std::mt19937_64 engine_;
};

// Whatever the order of calls: the causes add up to the time between EnterNext and LeaveNext, and
// what the coordinator is told adds up to the same and never falls.
TEST(StallMeter, CausesAddUpToTheTimeInNext) {
  Random random;
  SCOPED_TRACE(random.trace());
  for (int round = 0; round < 200; ++round) {
    StallMeter meter;
    GrowingWaits growing;
    WaitByCause told;
    Duration inside{}, outside{};
    bool stepping = false;
    SteadyTime now = At(1000);
    for (int call = 0; call < 300; ++call) {
      const Duration passed(random.Below(1'000'000));
      if (meter.inside()) inside += passed;
      if (!meter.inside() && stepping) outside += passed;
      now += passed;
      switch (meter.inside() ? random.Below(8) : 8 + random.Below(10)) {
        case 0:
          meter.EnterSampler(now);
          break;
        case 1:
          meter.LeaveSampler(now);
          break;
        case 2:
        case 3:
          meter.BeginWait(now);
          break;
        case 4:
          meter.PauseWait(now);
          break;
        case 5:
        case 6: {
          BatchTimeline timeline = Computed(900);
          timeline.arrived = now - Duration(random.Below(3'000'000));
          timeline.ready = timeline.arrived + Duration(random.Below(100'000));
          timeline.worker.source = Duration(random.Below(1'000'000));
          timeline.worker.wall = Duration(random.Below(2'000'000));
          meter.EndWait(now, timeline);
          break;
        }
        case 7:
          meter.LeaveNext(now);
          stepping = true;
          break;
        case 8:
          if (stepping) outside = meter.step();
          stepping = false;
          meter.Restart();
          break;
        case 9:
          meter.EnterSampler(now);
          break;
        default:
          meter.EnterNext(now);
          break;
      }
      ASSERT_EQ(meter.wait(now).Sum(), inside) << call;
      if (meter.inside()) {
        ASSERT_EQ(meter.step(), outside);
      }
      const WaitByCause next = growing.Follow(meter.wait(now));
      ASSERT_EQ(next.Sum(), inside) << call;
      for (std::size_t i = 0; i < kWaitCauses; ++i) ASSERT_GE(next.of[i], told.of[i]);
      told = next;
    }
  }
}

TEST(GrowingWaits, WhatWasSaidTooEarlyIsMadeUpForByTheNextWait) {
  GrowingWaits growing;
  WaitByCause now;
  now[WaitCause::kQueue] = milliseconds(30);  // a wait that is not over
  growing.Follow(now);
  now[WaitCause::kQueue] = Duration{};
  now[WaitCause::kCompute] = milliseconds(40);
  EXPECT_EQ(growing.Follow(now)[WaitCause::kQueue], milliseconds(30));
  EXPECT_EQ(growing.Follow(now)[WaitCause::kCompute], milliseconds(10));
  now[WaitCause::kQueue] = milliseconds(30);
  EXPECT_EQ(growing.Follow(now), now);
}

TEST(GrowingWaits, ATotalThatFallsIsHeld) {
  GrowingWaits growing;
  WaitByCause now;
  now[WaitCause::kCopy] = milliseconds(30);
  growing.Follow(now);
  EXPECT_EQ(growing.Follow({})[WaitCause::kCopy], milliseconds(30));
}

}  // namespace
}  // namespace headrace::client
