#include "trainer_client/stall/wait_attribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "base/test_time.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using std::chrono::milliseconds;

// 10 ms each of: held for sizes, for a worker, queue, then 40 ms of work, 10 ms of network, copy.
BatchTimeline Example() {
  BatchTimeline timeline;
  timeline.submitted = At(100);
  timeline.planned = At(110);
  timeline.sent = At(120);
  timeline.arrived = At(180);
  timeline.ready = At(190);
  timeline.worker.queue = milliseconds(10);
  timeline.worker.wall = milliseconds(50);
  timeline.worker.source = milliseconds(20);
  timeline.worker.compute = milliseconds(60);  // on two threads
  return timeline;
}

WaitByCause Waits(std::int64_t sampler, std::int64_t source, std::int64_t compute,
                  std::int64_t python, std::int64_t queue, std::int64_t network,
                  std::int64_t copy) {
  return {{milliseconds(sampler), milliseconds(source), milliseconds(compute), milliseconds(python),
           milliseconds(queue), milliseconds(network), milliseconds(copy)}};
}

TEST(DivideWait, AWaitForAllOfABatchSeesAllOfIt) {
  EXPECT_EQ(DivideWait(At(90), At(200), Example()), Waits(10, 10 + 10, 30, 0, 10 + 10, 10, 20));
}

TEST(DivideWait, BeforeThereWasAWorkerNobodyWasAskedForSizes) {
  BatchTimeline timeline = Example();
  timeline.served = At(107);
  EXPECT_EQ(DivideWait(At(90), At(115), timeline), Waits(10, 3, 0, 0, 7 + 5, 0, 0));
  timeline.served = At(118);
  EXPECT_EQ(DivideWait(At(90), At(120), timeline), Waits(10, 0, 0, 0, 20, 0, 0));
}

TEST(DivideWait, OnlyTheEndOfABatchThatWasAskedAheadIsWaitedFor) {
  EXPECT_EQ(DivideWait(At(175), At(190), Example()), Waits(0, 0, 0, 0, 0, 5, 10));
  EXPECT_EQ(DivideWait(At(150), At(190), Example()), Waits(0, 5, 15, 0, 0, 10, 10));
}

TEST(DivideWait, AReadyBatchIsOnlyHandedOver) {
  EXPECT_EQ(DivideWait(At(190), At(191), Example()), Waits(0, 0, 0, 0, 0, 0, 1));
  EXPECT_EQ(DivideWait(At(500), At(501), Example()), Waits(0, 0, 0, 0, 0, 0, 1));
}

TEST(DivideWait, APythonStageIsPython) {
  BatchTimeline timeline = Example();
  timeline.worker.source = timeline.worker.compute = Duration{};
  timeline.worker.python = milliseconds(40);
  EXPECT_EQ(DivideWait(At(120), At(190), timeline), Waits(0, 0, 0, 40, 10, 10, 10));
}

TEST(DivideWait, TimeInWhichNoThreadWorkedOnTheBatchIsQueue) {
  BatchTimeline timeline = Example();
  timeline.worker.source = milliseconds(5);
  timeline.worker.compute = milliseconds(15);
  EXPECT_EQ(DivideWait(At(120), At(180), timeline), Waits(0, 5, 15, 0, 10 + 20, 10, 0));
}

TEST(DivideWait, WorkersThatDoNotTellTheirWallTimeAreTakenByTheirWork) {
  BatchTimeline timeline = Example();
  timeline.worker.wall = Duration{};
  timeline.worker.source = milliseconds(5);
  timeline.worker.compute = milliseconds(15);
  EXPECT_EQ(DivideWait(At(120), At(180), timeline), Waits(0, 5, 15, 0, 10, 30, 0));
}

TEST(DivideWait, AWorkersClockThatRunsFastDoesNotPushOutTheRest) {
  BatchTimeline timeline = Example();
  timeline.worker.wall = milliseconds(90);
  timeline.worker.queue = milliseconds(70);
  EXPECT_EQ(DivideWait(At(120), At(190), timeline), Waits(0, 0, 0, 0, 60, 0, 10));
}

TEST(DivideWait, AnUnknownTimelineOnlyHandsOver) {
  EXPECT_EQ(DivideWait(At(1), At(3), BatchTimeline()), Waits(0, 0, 0, 0, 0, 0, 2));
}

// Any numbers at all: nothing is lost, nothing is negative, and pieces give what the whole gives.
TEST(DivideWait, PartsAddUpToTheWait) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto some = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  const auto moment = [&](std::int64_t most) { return SteadyTime(Duration(some(most))); };
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t span = std::int64_t{1} << some(50);
    BatchTimeline timeline;
    std::array<SteadyTime, 6> moments;
    for (SteadyTime& each : moments) each = moment(span);
    if (round % 3 != 0) std::ranges::sort(moments);
    timeline.submitted = moments[0];
    timeline.served = moments[1];
    timeline.planned = moments[2];
    timeline.sent = moments[3];
    timeline.arrived = moments[4];
    timeline.ready = moments[5];
    for (Duration* each : {&timeline.worker.queue, &timeline.worker.wall, &timeline.worker.source,
                           &timeline.worker.compute, &timeline.worker.python}) {
      *each = some(4) == 0 ? Duration{} : Duration(some(span) * (some(9) == 0 ? -1 : 1));
    }
    const SteadyTime from = moment(span), to = from + Duration(some(span));
    const WaitByCause whole = DivideWait(from, to, timeline);
    ASSERT_EQ(whole.Sum(), to - from);
    for (const Duration part : whole.of) ASSERT_GE(part, Duration{});
    const SteadyTime middle = from + Duration(some((to - from).count()));
    WaitByCause pieces = DivideWait(from, middle, timeline);
    pieces += DivideWait(middle, to, timeline);
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      // Each piece rounds for itself.
      const auto apart = (pieces.of[i] - whole.of[i]).count();
      ASSERT_LE(std::abs(static_cast<double>(apart)), 8 + 1e-15 * static_cast<double>(span));
    }
  }
}

}  // namespace
}  // namespace headrace::client
