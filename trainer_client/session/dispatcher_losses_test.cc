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
  dispatcher.Add(2, 100, {}, 0);
  // One of those that were lost, so that it is known which one ends a second worker.
  const auto sends = dispatcher.Poll(At(1));
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[0].ticket, 0);
  EXPECT_EQ(sends[1].ticket, 2);
  EXPECT_TRUE(dispatcher.Poll(At(1)).empty());
  EXPECT_EQ(dispatcher.OnAnswer(kB, sends[0].attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  const auto next = dispatcher.Poll(At(2));
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].ticket, 1);
  EXPECT_EQ(dispatcher.OnAnswer(kB, next[0].attempt, Answer::kLost, 0, At(2)), Verdict::kRetry);
  EXPECT_EQ(dispatcher.TakeLost(), std::vector<std::int64_t>{1});
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

// It is no reason to keep the worker from its own batch.
TEST(DispatcherLosses, TheOnlyWorkerIsAskedAgainForALostBatchThatItHas) {
  Dispatcher dispatcher({.hedge = false, .most_losses = 2});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.SetWorker(kA, WorkerState::kGone);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  EXPECT_EQ(dispatcher.NextDeadline(), At(30'000));
  const auto again = dispatcher.Poll(At(30'000));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].worker, kB);
  EXPECT_EQ(dispatcher.NextDeadline(), At(60'000)) << "and never in the past";
}

Dispatcher::Options WithDeadline() {
  return {.hedge = false, .most_losses = 2, .deadline = std::chrono::milliseconds(5000)};
}

// The worker has made a batch, so that it is known how long they take.
void Warm(Dispatcher& dispatcher, WorkerId worker) {
  dispatcher.SetWorker(worker, WorkerState::kReady);
  dispatcher.Add(1000, 1, {}, 0);
  const auto sent = dispatcher.Poll(At(-2));
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(dispatcher.OnAnswer(worker, sent[0].attempt, Answer::kMade, 0, At(-1)), Verdict::kTake);
}

TEST(DispatcherDeadline, ABatchOverItIsAskedOfAnotherWorkerAndThenOfNobody) {
  Dispatcher dispatcher(WithDeadline());
  Warm(dispatcher, kA);
  dispatcher.Add(0, 100, {}, 0);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(dispatcher.NextDeadline(), At(5000));
  EXPECT_TRUE(dispatcher.Poll(At(4999)).empty());
  const auto second = dispatcher.Poll(At(5000));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_NE(second[0].worker, first[0].worker);
  EXPECT_TRUE(dispatcher.TakeOverdue().empty());
  EXPECT_TRUE(dispatcher.Poll(At(10000)).empty());
  EXPECT_EQ(dispatcher.TakeOverdue(), std::vector<std::int64_t>{0});
  EXPECT_TRUE(dispatcher.TakeLost().empty()) << "nobody has ended with it";
  // Their slots come back whenever they answer, and how long they took is known then.
  EXPECT_EQ(dispatcher.OnAnswer(first[0].worker, first[0].attempt, Answer::kMade, 0, At(11000)),
            Verdict::kDrop);
  EXPECT_EQ(dispatcher.OnAnswer(second[0].worker, second[0].attempt, Answer::kMade, 0, At(12000)),
            Verdict::kDrop);
  dispatcher.Add(1, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(20000)).size(), 1U);
  EXPECT_TRUE(dispatcher.Poll(At(30000)).empty()) << "16 medians";
}

TEST(DispatcherDeadline, ItIsLongerForBatchesOfManySamples) {
  const std::vector<std::int64_t> keys(100);
  Dispatcher dispatcher(WithDeadline());
  Warm(dispatcher, kA);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.Add(0, 100, keys, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  EXPECT_TRUE(dispatcher.Poll(At(9999)).empty());
  EXPECT_EQ(dispatcher.Poll(At(10000)).size(), 1U);
}

// The first batches wait for cold files, and for each other.
TEST(DispatcherDeadline, TheFirstBatchesHaveMoreTime) {
  Dispatcher dispatcher(WithDeadline());
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  EXPECT_TRUE(dispatcher.Poll(At(24'999)).empty());
  EXPECT_EQ(dispatcher.Poll(At(25'000)).size(), 1U);
}

TEST(DispatcherDeadline, AnAnswerThatComesLateCountsWhileTheBatchIsNotMade) {
  Dispatcher dispatcher(WithDeadline());
  Warm(dispatcher, kA);
  dispatcher.Add(0, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(dispatcher.Poll(At(5000)).size(), 1U) << "the only worker is asked again";
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(6000)), Verdict::kTake);
  EXPECT_TRUE(dispatcher.TakeOverdue().empty());
}

// One attempt is one loss, also if its worker is lost in the end.
TEST(DispatcherDeadline, AWorkerThatHangsAndThenDiesIsOneLoss) {
  Dispatcher dispatcher(WithDeadline());
  Warm(dispatcher, kA);
  dispatcher.Add(0, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  ASSERT_EQ(dispatcher.Poll(At(5000)).size(), 1U);
  dispatcher.SetWorker(kA, WorkerState::kGone);
  dispatcher.SetWorker(kB, WorkerState::kSuspected);
  EXPECT_TRUE(dispatcher.TakeLost().empty());
  EXPECT_TRUE(dispatcher.TakeOverdue().empty());
}

// What waits in line at a busy worker is not its fault.
TEST(DispatcherDeadline, ItFollowsHowLongBatchesTake) {
  Dispatcher dispatcher(WithDeadline());
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(2000)), Verdict::kTake);
  dispatcher.Add(1, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(2000)).size(), 1U);
  EXPECT_TRUE(dispatcher.Poll(At(2000 + 31999)).empty());
  EXPECT_EQ(dispatcher.Poll(At(2000 + 32000)).size(), 1U);
}

TEST(DispatcherPaces, AWorkerWhoseBatchAnotherOneMadeIsLate) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  dispatcher.SetWorker(kB, WorkerState::kReady);
  const auto hedge = dispatcher.Poll(At(2000));
  ASSERT_EQ(hedge.size(), 1U);
  EXPECT_EQ(dispatcher.OnAnswer(kB, hedge[0].attempt, Answer::kMade, 0, At(2010)), Verdict::kTake);
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(2020)), Verdict::kDrop);
  const auto paces = dispatcher.TakePaces();
  EXPECT_EQ(paces.at(kA).made, 0U);
  EXPECT_EQ(paces.at(kA).late, 1U);
  EXPECT_EQ(paces.at(kB).made, 1U);
  EXPECT_TRUE(dispatcher.TakePaces().empty());
}

}  // namespace
}  // namespace headrace::client
