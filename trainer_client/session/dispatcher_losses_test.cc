#include "gtest/gtest.h"
#include "trainer_client/session/dispatcher.h"

// Batches whose workers are lost.
namespace headrace::client {
namespace {

using Answer = Dispatcher::Answer;
using Verdict = Dispatcher::Verdict;
using WorkerState = Dispatcher::WorkerState;
constexpr WorkerId kA{1}, kB{2};
SteadyTime At(std::int64_t ms) { return SteadyTime(std::chrono::milliseconds(ms)); }

// One of its samples may end whoever makes it.
TEST(DispatcherLosses, ABatchWithWhichTwoWorkersWereLostIsGivenToNoOther) {
  Dispatcher dispatcher({.most_losses = 2});
  for (const std::int64_t ticket : {0, 1}) dispatcher.Add(ticket, 100, {}, 0);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 2U);
  dispatcher.SetWorker(kA, WorkerState::kSuspected);
  dispatcher.SetWorker(kA, WorkerState::kGone);
  EXPECT_TRUE(dispatcher.TakeLost().empty()) << "that was one";
  dispatcher.SetWorker(kB, WorkerState::kReady);
  const auto sends = dispatcher.Poll(At(1));
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(dispatcher.OnAnswer(kB, sends[1].attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  EXPECT_EQ(dispatcher.OnAnswer(kB, sends[0].attempt, Answer::kLost, 0, At(2)), Verdict::kRetry);
  EXPECT_EQ(dispatcher.TakeLost(), std::vector{sends[0].ticket});
  EXPECT_TRUE(dispatcher.TakeLost().empty()) << "once";
  EXPECT_TRUE(dispatcher.Poll(At(3)).empty());
}

TEST(DispatcherLosses, ALostBatchThatAThirdWorkerHasAlreadyMayStillBeMade) {
  Dispatcher dispatcher({.most_losses = 2});
  const WorkerId third{3};
  dispatcher.Add(0, 100, {}, 0);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  dispatcher.SetWorker(kA, WorkerState::kSuspected);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  ASSERT_EQ(dispatcher.Poll(At(1)).size(), 1U);
  dispatcher.SetWorker(kB, WorkerState::kSuspected);
  dispatcher.SetWorker(third, WorkerState::kReady);
  const auto sends = dispatcher.Poll(At(2));
  ASSERT_EQ(sends.size(), 1U);
  dispatcher.SetWorker(kA, WorkerState::kGone);
  dispatcher.SetWorker(kB, WorkerState::kGone);
  EXPECT_TRUE(dispatcher.TakeLost().empty());
  EXPECT_EQ(dispatcher.OnAnswer(third, sends[0].attempt, Answer::kMade, 0, At(3)), Verdict::kTake);
}

TEST(DispatcherLosses, WithoutABoundWorkersMayBeLostForever) {
  Dispatcher dispatcher({});
  dispatcher.Add(0, 100, {}, 0);
  for (std::int64_t life = 1; life < 9; ++life) {
    dispatcher.SetWorker(WorkerId(life), WorkerState::kReady);
    ASSERT_EQ(dispatcher.Poll(At(life)).size(), 1U);
    dispatcher.SetWorker(WorkerId(life), WorkerState::kGone);
  }
  EXPECT_TRUE(dispatcher.TakeLost().empty());
}

}  // namespace
}  // namespace headrace::client
