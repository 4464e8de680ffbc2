// Who is asked for a batch beside the worker that has it, by what making it twice does.
#include <chrono>

#include "base/test_time.h"
#include "gtest/gtest.h"
#include "trainer_client/session/dispatcher.h"

namespace headrace::client {
namespace {

class DispatcherMaking : public testing::Test {
 protected:
  using Answer = Dispatcher::Answer;
  using Verdict = Dispatcher::Verdict;
  using WorkerState = Dispatcher::WorkerState;
  static constexpr WorkerId kA{1}, kB{2}, kC{3};
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
