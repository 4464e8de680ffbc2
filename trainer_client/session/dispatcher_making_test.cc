// Who is asked for a batch beside the worker that has it, by what making it twice does.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>

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
    EXPECT_EQ(first[i].after,
              static_cast<std::int64_t>(i) - 2 < 0 ? -1 : static_cast<std::int64_t>(i) - 2);
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
  EXPECT_EQ(next[0].after, 4) << "2 has come";
  EXPECT_EQ(next[1].after, 6);
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

// The lane reads the sockets of all its workers. What two of them have, it may make in any order.
TEST_F(DispatcherMaking, WhatIsLostGoesTogetherToOneOfTheOthers) {
  Dispatcher dispatcher({.lanes_in_order = true, .resend_elsewhere = false});
  dispatcher.SetLaneWindow(3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  KnowSizes(dispatcher);
  for (int i = 0; i < 4; ++i) dispatcher.Add(i, 100, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 3U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.SetWorker(kC, WorkerState::kReady);
  dispatcher.SetWorker(kA, WorkerState::kSuspected);
  const auto again = dispatcher.Poll(At(1));
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].ticket, static_cast<std::int64_t>(i));
    EXPECT_EQ(again[i].worker, again[0].worker);
    EXPECT_EQ(again[i].ahead(), i > 0);
  }
  // And once more, where the first of them has come.
  EXPECT_EQ(dispatcher.OnAnswer(again[0].worker, again[0].attempt, Answer::kMade, 0, At(2)),
            Verdict::kTake);
  EXPECT_EQ(dispatcher.Poll(At(2)).at(0).ticket, 3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(again[0].worker, WorkerState::kGone);
  const auto third = dispatcher.Poll(At(3));
  ASSERT_EQ(third.size(), 3U);
  for (std::size_t i = 0; i < third.size(); ++i) {
    EXPECT_EQ(third[i].ticket, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(third[i].worker, third[0].worker);
  }
}

TEST_F(DispatcherMaking, WhatFoundNoSlotFollowsTheBatchesBeforeIt) {
  Dispatcher dispatcher({.lanes_in_order = true, .resend_elsewhere = false});
  dispatcher.SetLaneWindow(3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  KnowSizes(dispatcher);
  for (int i = 0; i < 3; ++i) dispatcher.Add(i, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 3U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.Unsent(first[1].attempt);
  dispatcher.Unsent(first[2].attempt);
  const auto rest = dispatcher.Poll(At(1));
  ASSERT_EQ(rest.size(), 2U);
  for (const auto& send : rest) EXPECT_EQ(send.worker, kA) << "where the first one is";
  // A worker that drains gets none of them, and the first one is still there.
  dispatcher.Unsent(rest[0].attempt);
  dispatcher.Unsent(rest[1].attempt);
  dispatcher.SetWorker(kA, WorkerState::kDraining);
  EXPECT_TRUE(dispatcher.Poll(At(2)).empty());
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(3)), Verdict::kTake);
  const auto moved = dispatcher.Poll(At(3));
  ASSERT_EQ(moved.size(), 2U);
  for (const auto& send : moved) EXPECT_EQ(send.worker, kB);
}

TEST_F(DispatcherMaking, WhatIsRefusedWaitsForTheBatchesBeforeIt) {
  Dispatcher dispatcher({.lanes_in_order = true, .resend_elsewhere = false});
  dispatcher.SetLaneWindow(3);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  KnowSizes(dispatcher);
  for (int i = 0; i < 3; ++i) dispatcher.Add(i, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0));
  ASSERT_EQ(first.size(), 3U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(dispatcher.OnAnswer(kA, first[i].attempt, Answer::kRefused, 0, At(1)),
              Verdict::kRetry);
  }
  EXPECT_TRUE(dispatcher.Poll(At(1)).empty()) << "it would be refused until it counts as failed";
  EXPECT_EQ(dispatcher.OnAnswer(kA, first[0].attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  const auto next = dispatcher.Poll(At(2));
  ASSERT_EQ(next.size(), 1U) << "one by one";
  EXPECT_EQ(next[0].ticket, 1);
  EXPECT_EQ(next[0].worker, kB);
}

// Workers come and go, slots are missing, answers are lost and refused: nothing of a lane is asked of
// a worker before that worker was asked for all earlier ones that have not come.
TEST_F(DispatcherMaking, NoWorkerIsAskedForABatchWithoutThoseBeforeIt) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 200; ++round) {
    Dispatcher dispatcher(
        {.lanes_in_order = true, .resend_elsewhere = false, .most_refusals = 1'000'000});
    dispatcher.SetLaneWindow(1 + any(4));
    dispatcher.SetWorker(kA, WorkerState::kReady);
    KnowSizes(dispatcher);
    for (int i = 0; i < 12; ++i) dispatcher.Add(i, 100, {}, i % 2);
    struct Sent {
      std::int64_t ticket;
      WorkerId worker;
    };
    std::map<std::uint32_t, Sent> sent;  // without an answer
    std::set<std::int64_t> done;
    for (int step = 0; step < 400 && done.size() < 12; ++step) {
      bool starved = false;
      for (const auto& send : dispatcher.Poll(At(step))) {
        starved = starved || any(4) == 0;
        if (starved) {
          dispatcher.Unsent(send.attempt);
          continue;
        }
        for (std::int64_t before = send.ticket % 2; before < send.ticket; before += 2) {
          if (done.contains(before)) continue;
          EXPECT_TRUE(std::ranges::any_of(sent,
                                          [&](const auto& each) {
                                            return each.second.ticket == before &&
                                                   each.second.worker == send.worker;
                                          }))
              << send.ticket << " without " << before;
        }
        sent[send.attempt] = {send.ticket, send.worker};
      }
      const WorkerId worker(1 + any(3));
      switch (any(6)) {
        case 0:
          dispatcher.SetWorker(worker, WorkerState::kSuspected);
          break;
        case 1:
          dispatcher.SetWorker(worker, WorkerState::kGone);
          std::erase_if(sent, [&](const auto& each) { return each.second.worker == worker; });
          break;
        case 2:
          dispatcher.SetWorker(worker, WorkerState::kReady);
          break;
        default:
          if (sent.empty()) break;
          const auto at = std::next(sent.begin(), any(static_cast<int>(sent.size())));
          const Answer answer = any(4) == 0 ? Answer::kRefused : Answer::kMade;
          const Verdict verdict =
              dispatcher.OnAnswer(at->second.worker, at->first, answer, 0, At(step));
          if (verdict == Verdict::kTake) done.insert(at->second.ticket);
          sent.erase(at);
      }
    }
  }
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
    EXPECT_FALSE(sends[0].ahead());
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
  EXPECT_FALSE(large.ahead());
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
