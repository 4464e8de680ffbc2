#include "base/test_time.h"
#include "gtest/gtest.h"
#include "trainer_client/session/dispatcher.h"

// Batches whose workers are lost.
namespace headrace::client {
namespace {

using Answer = Dispatcher::Answer;
using Verdict = Dispatcher::Verdict;
using WorkerState = Dispatcher::WorkerState;
constexpr WorkerId kA{1}, kB{2};

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

// One worker that is suspected, comes back and is lost in the end is one.
TEST(DispatcherLosses, OneWorkerCountsOnce) {
  Dispatcher dispatcher({.most_losses = 2});
  dispatcher.Add(0, 100, {}, 0);
  for (int i = 0; i < 3; ++i) {
    dispatcher.SetWorker(kA, WorkerState::kReady);
    const auto sends = dispatcher.Poll(At(i));
    ASSERT_EQ(sends.size(), 1U) << i;
    if (i == 1) {
      dispatcher.OnAnswer(kA, sends[0].attempt, Answer::kLost, 0, At(i));
    } else {
      dispatcher.SetWorker(kA, WorkerState::kSuspected);
    }
  }
  dispatcher.SetWorker(kA, WorkerState::kGone);
  EXPECT_TRUE(dispatcher.TakeLost().empty());
  dispatcher.SetWorker(kB, WorkerState::kReady);
  EXPECT_EQ(dispatcher.Poll(At(9)).size(), 1U);
}

TEST(DispatcherLosses, AThirdWorkerThatHasItAlreadyIsTheLast) {
  Dispatcher dispatcher({.most_losses = 2});
  const WorkerId third{3}, fourth{4};
  dispatcher.Add(0, 100, {}, 0);
  for (const WorkerId worker : {kA, kB}) {
    dispatcher.SetWorker(worker, WorkerState::kReady);
    ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
    dispatcher.SetWorker(worker, WorkerState::kSuspected);
  }
  dispatcher.SetWorker(third, WorkerState::kReady);
  const auto sends = dispatcher.Poll(At(0));
  ASSERT_EQ(sends.size(), 1U);
  for (const WorkerId worker : {kA, kB}) dispatcher.SetWorker(worker, WorkerState::kGone);
  dispatcher.SetWorker(fourth, WorkerState::kReady);
  EXPECT_TRUE(dispatcher.Poll(At(29'999)).empty()) << "neither hedged nor sent again";
  EXPECT_TRUE(dispatcher.TakeLost().empty());
  EXPECT_EQ(dispatcher.OnAnswer(third, sends[0].attempt, Answer::kRefused, 0, At(29'999)),
            Verdict::kRetry);
  EXPECT_TRUE(dispatcher.Poll(At(30'000)).empty());
  EXPECT_EQ(dispatcher.TakeLost(), std::vector<std::int64_t>{0});
}

// The request to the third worker may have been lost, too: nobody else is asked, and nobody waits for
// ever.
TEST(DispatcherLosses, AThirdWorkerThatNeverAnswersIsNotWaitedFor) {
  Dispatcher dispatcher({.most_losses = 2});
  const WorkerId third{3};
  dispatcher.Add(0, 100, {}, 0);
  for (const WorkerId worker : {kA, kB}) {
    dispatcher.SetWorker(worker, WorkerState::kReady);
    ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
    dispatcher.SetWorker(worker, WorkerState::kSuspected);
  }
  dispatcher.SetWorker(third, WorkerState::kReady);
  const auto sends = dispatcher.Poll(At(0));
  ASSERT_EQ(sends.size(), 1U);
  for (const WorkerId worker : {kA, kB}) dispatcher.SetWorker(worker, WorkerState::kGone);
  ASSERT_EQ(dispatcher.NextDeadline(), At(30'000));
  EXPECT_TRUE(dispatcher.Poll(At(30'000)).empty());
  EXPECT_EQ(dispatcher.TakeLost(), std::vector<std::int64_t>{0});
  EXPECT_EQ(dispatcher.OnAnswer(third, sends[0].attempt, Answer::kMade, 0, At(30'001)),
            Verdict::kDrop);
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
