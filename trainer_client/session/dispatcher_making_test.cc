// Who is asked for a batch beside the worker that has it, by what making it twice does.
#include <chrono>

#include "base/test_time.h"
#include "gtest/gtest.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/dispatcher.h"

namespace headrace::client {
namespace {

class DispatcherMaking : public testing::Test {
 protected:
  using Answer = Dispatcher::Answer;
  using Verdict = Dispatcher::Verdict;
  using WorkerState = Dispatcher::WorkerState;
  static constexpr WorkerId kA{1}, kB{2}, kC{3};
  // A batch of another lane has come, so that the size of batches is known.
  static void KnowSizes(Dispatcher& dispatcher) {
    dispatcher.Add(-1, 1, {}, 99);
    const auto send = dispatcher.Poll(At(0)).at(0);
    EXPECT_EQ(dispatcher.OnAnswer(send.worker, send.attempt, Answer::kMade, 0, At(0)),
              Verdict::kTake);
  }
};

TEST_F(DispatcherMaking, BatchesThatWaitAreAskedForWithLargerSlots) {
  Dispatcher dispatcher({.lanes_in_order = true});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  for (int i = 0; i < 2; ++i) dispatcher.Add(i, 100, {}, 0);
  auto send = dispatcher.Poll(At(0)).at(0);
  EXPECT_EQ(send.slot_bytes, 100U);
  dispatcher.Enlarge(1, 500);
  dispatcher.Enlarge(1, 50);   // never smaller
  dispatcher.Enlarge(2, 500);  // done, or not known
  EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kMade, 0, At(1)), Verdict::kTake);
  EXPECT_EQ(dispatcher.Poll(At(1)).at(0).slot_bytes, 500U);
}

// Both workers of this host would ask the same processes.
TEST_F(DispatcherMaking, ALateBatchOfLanesIsHedgedElsewhereAlone) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.SetLanes(kA);
  dispatcher.SetLanes(kB);
  dispatcher.Add(0, 1, {}, 0);
  const WorkerId first = dispatcher.Poll(At(0)).at(0).worker;
  EXPECT_EQ(dispatcher.NextDeadline(), At(30'000)) << "only the lost request is asked again";
  EXPECT_TRUE(dispatcher.Poll(At(29'999)).empty());
  dispatcher.SetWorker(kC, WorkerState::kReady);
  const auto hedge = dispatcher.Poll(At(29'999));
  ASSERT_EQ(hedge.size(), 1U);
  EXPECT_EQ(hedge[0].worker, kC);
  EXPECT_TRUE(hedge[0].hedge);
  // And what a worker elsewhere has late is asked of this host.
  EXPECT_EQ(dispatcher.OnAnswer(kC, hedge[0].attempt, Answer::kMade, 0, At(30'000)),
            Verdict::kTake);
  dispatcher.SetWorker(first, WorkerState::kDraining);
  dispatcher.SetWorker(first == kA ? kB : kA, WorkerState::kDraining);
  dispatcher.Add(1, 1, {}, 0);
  EXPECT_EQ(dispatcher.Poll(At(31'000)).at(0).worker, kC);
  dispatcher.SetWorker(first, WorkerState::kReady);
  const auto back = dispatcher.Poll(At(33'000));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].worker, first);
}

// A lane's process must not wait for the trainer between two batches.
TEST_F(DispatcherMaking, AsManyBatchesOfALaneAsItsWindowAreOutAtOnce) {
  Dispatcher dispatcher({.lanes_in_order = true});
  dispatcher.SetLaneWindow(3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  KnowSizes(dispatcher);
  for (int i = 0; i < 10; ++i) dispatcher.Add(i, 1, {}, i % 2);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 6U);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].ticket, static_cast<std::int64_t>(i));
    EXPECT_EQ(first[i].worker, first[i % 2].worker) << "a lane's are at one worker";
    EXPECT_EQ(first[i].ahead, i >= 2);
  }
  // Its process keeps the last two. So what is older than that must have come.
  const auto made = [&](const Dispatcher::Send& send, int ms) {
    EXPECT_EQ(dispatcher.OnAnswer(send.worker, send.attempt, Answer::kMade, 0, At(ms)),
              Verdict::kTake);
  };
  made(first[2], 1);
  EXPECT_TRUE(dispatcher.Poll(At(1)).empty()) << "the lane's first has not come";
  made(first[0], 2);
  const auto next = dispatcher.Poll(At(2));
  ASSERT_EQ(next.size(), 2U) << "0 and 2 have come";
  EXPECT_EQ(next[0].ticket, 6);
  EXPECT_EQ(next[1].ticket, 8);
}

TEST_F(DispatcherMaking, TheFirstBatchesOfALaneGoOutOneByOne) {
  Dispatcher dispatcher({.lanes_in_order = true});
  dispatcher.SetLaneWindow(3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  for (int i = 0; i < 4; ++i) dispatcher.Add(i, 1, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 1U) << "each might find its slot too small";
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(1)), Verdict::kTake);
  EXPECT_EQ(dispatcher.Poll(At(1)).size(), 3U);
}

TEST_F(DispatcherMaking, WhatIsLostGoesOutAgainInOrderBeforeAnythingElseOfItsLane) {
  Dispatcher dispatcher({.lanes_in_order = true, .resend_elsewhere = false});
  dispatcher.SetLaneWindow(2);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  KnowSizes(dispatcher);
  for (int i = 0; i < 4; ++i) dispatcher.Add(i, 1, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[1].attempt, Answer::kMade, 0, At(1)), Verdict::kTake);
  dispatcher.SetWorker(kA, WorkerState::kGone);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  const auto again = dispatcher.Poll(At(2));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].ticket, 0);
  EXPECT_EQ(dispatcher.OnAnswer(kB, again[0].attempt, Answer::kRefused, 0, At(3)), Verdict::kRetry);
  EXPECT_EQ(dispatcher.Poll(At(3)).at(0).ticket, 0) << "nothing passes it";
}

TEST_F(DispatcherMaking, LargeBatchesOfALaneGoOutOneByOne) {
  Dispatcher dispatcher({.lanes_in_order = true});
  dispatcher.SetLaneWindow(4);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  KnowSizes(dispatcher);
  const std::uint64_t most = IterationOptions::kMostAheadBytes;
  for (int i = 0; i < 3; ++i) dispatcher.Add(i, i == 1 ? most + 1 : most, {}, 0);
  for (int i = 0; i < 3; ++i) {
    const auto sends = dispatcher.Poll(At(i));
    ASSERT_EQ(sends.size(), i == 1 ? 2U : 1U);
    EXPECT_EQ(sends[0].ticket, i);
    EXPECT_FALSE(sends[0].ahead);
    if (i == 1) {
      EXPECT_EQ(sends[1].ticket, 2) << "a small one may follow a large one";
      break;
    }
    EXPECT_EQ(dispatcher.OnAnswer(kA, sends[0].attempt, Answer::kMade, 0, At(i)), Verdict::kTake);
  }
  // One that turns out to be large waits for those before it.
  Dispatcher grown({.lanes_in_order = true});
  grown.SetLaneWindow(2);
  grown.SetWorker(kA, WorkerState::kReady);
  KnowSizes(grown);
  for (int i = 0; i < 2; ++i) grown.Add(i, 1, {}, 0);
  const auto sends = grown.Poll(At(0));
  EXPECT_EQ(grown.OnAnswer(kA, sends.at(1).attempt, Answer::kTooSmall, most + 1, At(1)),
            Verdict::kRetry);
  EXPECT_TRUE(grown.Poll(At(1)).empty());
  EXPECT_EQ(grown.OnAnswer(kA, sends[0].attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  const auto large = grown.Poll(At(2)).at(0);
  EXPECT_EQ(large.slot_bytes, most + 1);
  EXPECT_FALSE(large.ahead);
}

TEST_F(DispatcherMaking, OptionsFollowWhatMakingABatchTwiceDoes) {
  Plan code;
  code.has_python_stage = true;
  for (const Making making : {Making::kFreely, Making::kOnce, Making::kInOrder}) {
    const auto options = Dispatcher::Options::For(code, making, std::chrono::seconds(1));
    EXPECT_EQ(options.hedge, making == Making::kFreely);
    EXPECT_EQ(options.resend_elsewhere, making == Making::kFreely);
    EXPECT_EQ(options.lanes_in_order, making == Making::kInOrder);
  }
}

}  // namespace
}  // namespace headrace::client
