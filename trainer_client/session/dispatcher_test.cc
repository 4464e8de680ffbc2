#include "trainer_client/session/dispatcher.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "base/test_time.h"
#include "gtest/gtest.h"
#include "trainer_client/session/reorder_buffer.h"

namespace headrace::client {
namespace {

using std::chrono::milliseconds;
using Answer = Dispatcher::Answer;
using Verdict = Dispatcher::Verdict;
using WorkerState = Dispatcher::WorkerState;
constexpr WorkerId kA{1}, kB{2};

TEST(Dispatcher, SpreadsByBytesOutstanding) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  for (int i = 0; i < 8; ++i) dispatcher.Add(i, 100, {}, 0);
  const auto sends = dispatcher.Poll(At(0));
  ASSERT_EQ(sends.size(), 8U);
  EXPECT_EQ(std::ranges::count(sends, kA, &Dispatcher::Send::worker), 4);
  EXPECT_EQ(dispatcher.outstanding_bytes(), 800U);
}

TEST(Dispatcher, EqualWorkersPartitionKeysByPreference) {
  // The same keys go to the same worker, whatever the ticket.
  const std::vector<std::int64_t> keys{1, 2, 3, 4, 5};
  WorkerId first;
  for (int ticket = 0; ticket < 5; ++ticket) {
    Dispatcher dispatcher({});
    dispatcher.SetWorker(kA, WorkerState::kReady);
    dispatcher.SetWorker(kB, WorkerState::kReady);
    dispatcher.Add(ticket, 100, keys, 0);
    const WorkerId worker = dispatcher.Poll(At(0)).at(0).worker;
    if (ticket == 0) first = worker;
    EXPECT_EQ(worker, first);
  }
}

TEST(Dispatcher, GoneWorkersBatchesAreAskedElsewhereAndItsSlotsAreFree) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0)).at(0);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  EXPECT_EQ(dispatcher.SetWorker(kA, WorkerState::kGone), std::vector{first.attempt});
  const auto second = dispatcher.Poll(At(1));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].worker, kB);
  EXPECT_EQ(dispatcher.rerequested(), 1U);
  EXPECT_EQ(dispatcher.OnAnswer(kA, first.attempt, Answer::kMade, 0, At(2)), Verdict::kUnknown);
}

TEST(Dispatcher, LateAnswerOfASuspectedWorkerStillCounts) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  const auto first = dispatcher.Poll(At(0)).at(0);
  EXPECT_TRUE(dispatcher.SetWorker(kA, WorkerState::kSuspected).empty());
  EXPECT_TRUE(dispatcher.Poll(At(1)).empty());  // nobody is left
  EXPECT_EQ(dispatcher.OnAnswer(kA, first.attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  EXPECT_FALSE(dispatcher.Contains(0));
}

TEST(Dispatcher, LateHeadOfLineIsHedgedAndTheFirstAnswerWins) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  for (int i = 0; i < 8; ++i) {
    dispatcher.Add(i, 1, {}, 0);
    const auto send = dispatcher.Poll(At(i * 100)).at(0);
    dispatcher.OnAnswer(send.worker, send.attempt, Answer::kMade, 0, At(i * 100 + 20));
  }
  // Median 20 ms: late after max(50, 4 * 20) ms.
  dispatcher.Add(8, 1, {}, 0);
  dispatcher.Add(9, 1, {}, 0);
  const auto sends = dispatcher.Poll(At(1000));
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(dispatcher.NextDeadline(), At(1080));
  EXPECT_TRUE(dispatcher.Poll(At(1079)).empty());
  const auto hedge = dispatcher.Poll(At(1080));
  ASSERT_EQ(hedge.size(), 1U);  // the head only
  EXPECT_EQ(hedge[0].ticket, 8);
  EXPECT_NE(hedge[0].worker, sends[0].worker);
  EXPECT_TRUE(hedge[0].hedge);
  EXPECT_TRUE(dispatcher.Poll(At(2000)).empty());  // once
  EXPECT_EQ(dispatcher.OnAnswer(hedge[0].worker, hedge[0].attempt, Answer::kMade, 0, At(2001)),
            Verdict::kTake);
  EXPECT_EQ(dispatcher.OnAnswer(sends[0].worker, sends[0].attempt, Answer::kMade, 0, At(2002)),
            Verdict::kDrop);
}

TEST(Dispatcher, TooSmallSlotIsAskedAgainWithALargerOne) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  auto send = dispatcher.Poll(At(0)).at(0);
  EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kTooSmall, 500, At(1)), Verdict::kRetry);
  send = dispatcher.Poll(At(1)).at(0);
  EXPECT_EQ(send.slot_bytes, 500U);
  EXPECT_EQ(dispatcher.rerequested(), 0U);
  // A worker that asks for less than it had is no reason to loop for ever.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kTooSmall, 1, At(2)), Verdict::kRetry);
    send = dispatcher.Poll(At(2)).at(0);
  }
  EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kTooSmall, 1, At(2)), Verdict::kGiveUp);
}

TEST(Dispatcher, RefusedBatchGoesToAnotherWorkerAndFailsInTheEnd) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  WorkerId last;
  for (int i = 0; i < 4; ++i) {
    const auto send = dispatcher.Poll(At(i)).at(0);
    EXPECT_NE(send.worker, last);
    last = send.worker;
    EXPECT_EQ(dispatcher.OnAnswer(send.worker, send.attempt, Answer::kRefused, 0, At(i)),
              i < 3 ? Verdict::kRetry : Verdict::kGiveUp);
  }
}

TEST(Dispatcher, DrainingWorkerGetsNothingNew) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  const auto send = dispatcher.Poll(At(0)).at(0);
  dispatcher.SetWorker(kA, WorkerState::kDraining);
  dispatcher.Add(1, 100, {}, 0);
  EXPECT_TRUE(dispatcher.Poll(At(1)).empty());
  EXPECT_TRUE(dispatcher.Outstanding(kA));
  EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  EXPECT_FALSE(dispatcher.Outstanding(kA));
}

TEST(Dispatcher, LaneGoesOnOnlyBehindItsLastBatch) {
  Dispatcher::Options options;
  options.lanes_in_order = true;
  Dispatcher dispatcher(options);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 1, {}, 0);
  dispatcher.Add(1, 1, {}, 1);
  dispatcher.Add(2, 1, {}, 0);
  const auto sends = dispatcher.Poll(At(0));
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[1].ticket, 1);
  dispatcher.SetWorker(kA, WorkerState::kSuspected);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  EXPECT_EQ(dispatcher.Poll(At(1)).size(), 2U);  // 0 and 1 again, not 2
  EXPECT_EQ(dispatcher.OnAnswer(kA, sends[0].attempt, Answer::kMade, 0, At(2)), Verdict::kTake);
  EXPECT_EQ(dispatcher.Poll(At(2)).at(0).ticket, 2);
}

TEST(Dispatcher, LaneStaysWithItsWorkerWhileThatIsReady) {
  Dispatcher::Options options;
  options.lanes_stay = true;
  Dispatcher dispatcher(options);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  const auto send = [&](std::int64_t ticket, std::int32_t lane, std::uint64_t bytes = 1) {
    dispatcher.Add(ticket, bytes, {}, lane);
    const auto sends = dispatcher.Poll(At(ticket));
    EXPECT_EQ(sends.size(), 1U);
    return sends.at(0);
  };
  const auto answer = [&](const Dispatcher::Send& sent, Answer how) {
    return dispatcher.OnAnswer(sent.worker, sent.attempt, how, 0, At(sent.ticket));
  };
  const auto first = send(0, 0, 100);
  const auto other = send(1, 1, 1);
  ASSERT_NE(other.worker, first.worker);
  // Busier than the other one, and still lane 0 goes there.
  const auto next = send(2, 0, 100);
  EXPECT_EQ(next.worker, first.worker);
  EXPECT_EQ(answer(first, Answer::kMade), Verdict::kTake);
  EXPECT_EQ(answer(next, Answer::kRefused), Verdict::kRetry);
  const auto elsewhere = dispatcher.Poll(At(3)).at(0);
  EXPECT_EQ(elsewhere.worker, other.worker);
  EXPECT_EQ(answer(elsewhere, Answer::kMade), Verdict::kTake);
  EXPECT_EQ(send(4, 0).worker, other.worker);
  dispatcher.SetWorker(other.worker, WorkerState::kDraining);
  EXPECT_EQ(send(5, 1).worker, first.worker);
  dispatcher.SetWorker(other.worker, WorkerState::kReady);
  EXPECT_EQ(send(6, 1).worker, first.worker);
  dispatcher.ForgetLanes();
  EXPECT_EQ(send(7, 2, 1000).worker == first.worker, send(8, 1).worker != first.worker);
}

TEST(Dispatcher, SilentRequestIsSentAgainToTheOnlyWorker) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 1, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(0)).size(), 1U);
  EXPECT_EQ(dispatcher.NextDeadline(), At(30'000));
  EXPECT_TRUE(dispatcher.Poll(At(29'999)).empty());
  EXPECT_EQ(dispatcher.Poll(At(30'000)).size(), 1U);
}

// As SIGSTOP does: else a lost request would be repeated after 16 times as long.
TEST(Dispatcher, TimeInWhichThisProcessStoodStillIsNoLatency) {
  for (const bool stood_still : {false, true}) {
    Dispatcher dispatcher({});
    dispatcher.SetWorker(kA, WorkerState::kReady);
    dispatcher.Add(0, 100, {}, 0);
    const auto first = dispatcher.Poll(At(0)).at(0);
    if (stood_still) dispatcher.StoodStill(At(14'000));
    EXPECT_EQ(dispatcher.OnAnswer(kA, first.attempt, Answer::kMade, 0, At(14'000)), Verdict::kTake);
    dispatcher.Add(1, 100, {}, 0);
    EXPECT_EQ(dispatcher.Poll(At(14'000)).size(), 1U);
    EXPECT_EQ(dispatcher.Poll(At(14'000 + 31'000)).size(), stood_still ? 1U : 0U);
  }
}

TEST(Dispatcher, BatchOfUserCodeIsAskedOfNobodyElseWhileItsWorkerLives) {
  Dispatcher::Options options;
  options.hedge = false;
  options.resend_elsewhere = false;
  Dispatcher dispatcher(options);
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 1, {}, 0);
  const auto first = dispatcher.Poll(At(0)).at(0);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  std::vector<Dispatcher::Send> repeats;
  for (std::int64_t ms = 1000; ms <= 600'000; ms += 1000) {
    if (ms == 200'000) dispatcher.SetWorker(kA, WorkerState::kDraining);
    for (const auto& send : dispatcher.Poll(At(ms))) repeats.push_back(send);
  }
  EXPECT_EQ(repeats.size(), 20U);  // each 30 s: the request may be lost
  for (const auto& send : repeats) EXPECT_EQ(send.worker, kA);
  // The worker answers its first request, then says that the others were repeats.
  EXPECT_EQ(dispatcher.OnAnswer(kA, first.attempt, Answer::kMade, 0, At(601'000)), Verdict::kTake);
  for (const auto& send : repeats) {
    EXPECT_EQ(dispatcher.OnAnswer(kA, send.attempt, Answer::kCancelled, 0, At(601'000)),
              Verdict::kDrop);
  }
  EXPECT_EQ(dispatcher.outstanding_bytes(), 0U);
  // Lost is another matter.
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.SetWorker(kB, WorkerState::kGone);
  dispatcher.Add(1, 1, {}, 0);
  ASSERT_EQ(dispatcher.Poll(At(700'000)).at(0).worker, kA);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  dispatcher.SetWorker(kA, WorkerState::kSuspected);
  EXPECT_EQ(dispatcher.Poll(At(700'001)).at(0).worker, kB);
}

TEST(Dispatcher, WhatCouldNotBeSentCountsAsNeitherHedgedNorAskedAgain) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 100, {}, 0);
  for (int i = 0; i < 5; ++i) dispatcher.Unsent(dispatcher.Poll(At(i)).at(0).attempt);
  EXPECT_EQ(dispatcher.outstanding_bytes(), 0U);
  const auto first = dispatcher.Poll(At(10)).at(0);
  EXPECT_EQ(dispatcher.rerequested(), 0U);
  dispatcher.SetWorker(kB, WorkerState::kReady);
  for (int i = 0; i < 5; ++i) {  // late
    const auto hedge = dispatcher.Poll(At(5000 + i)).at(0);
    EXPECT_TRUE(hedge.hedge);
    EXPECT_EQ(hedge.worker, kB);
    dispatcher.Unsent(hedge.attempt);
  }
  EXPECT_EQ(dispatcher.hedged(), 0U);
  EXPECT_EQ(dispatcher.OnAnswer(kA, first.attempt, Answer::kRefused, 0, At(6000)), Verdict::kRetry);
  EXPECT_EQ(dispatcher.Poll(At(6000)).at(0).worker, kB);
  EXPECT_EQ(dispatcher.rerequested(), 1U);
}

TEST(Dispatcher, RemovedBatchesAnswersAreDropped) {
  Dispatcher dispatcher({});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  for (int i = 0; i < 3; ++i) dispatcher.Add(i, 1, {}, 0);
  const auto sends = dispatcher.Poll(At(0));
  dispatcher.RemoveBefore(2);
  EXPECT_EQ(dispatcher.OnAnswer(kA, sends[0].attempt, Answer::kMade, 0, At(1)), Verdict::kDrop);
  EXPECT_EQ(dispatcher.OnAnswer(kA, sends[1].attempt, Answer::kCancelled, 0, At(1)),
            Verdict::kDrop);
  EXPECT_EQ(dispatcher.OnAnswer(kA, sends[2].attempt, Answer::kMade, 0, At(1)), Verdict::kTake);
  EXPECT_EQ(dispatcher.outstanding_bytes(), 0U);
}

TEST(Dispatcher, AnswerToARemovedBatchIsNotTheAnswerToItsSuccessor) {
  Dispatcher dispatcher(Dispatcher::Options{});
  dispatcher.SetWorker(kA, WorkerState::kReady);
  dispatcher.Add(0, 1, {}, 0);
  const auto old_sends = dispatcher.Poll(At(0));
  dispatcher.Remove(0);
  dispatcher.Add(0, 1, {}, 0);  // replanned: other random numbers under the same number
  const auto new_sends = dispatcher.Poll(At(1));
  ASSERT_EQ(new_sends.size(), 1U);
  EXPECT_EQ(dispatcher.OnAnswer(kA, old_sends[0].attempt, Answer::kMade, 0, At(2)), Verdict::kDrop);
  EXPECT_TRUE(dispatcher.Contains(0));
  EXPECT_EQ(dispatcher.OnAnswer(kA, new_sends[0].attempt, Answer::kMade, 0, At(3)), Verdict::kTake);
  EXPECT_EQ(dispatcher.outstanding_bytes(), 0U);
}

// A world of workers that lose, double, delay, refuse and die, against one promise: every batch
// comes out once and in order. With lanes, as of user code, no batch is asked of a second worker
// before its first one is lost or gives it back.
class DispatcherChaos : public testing::TestWithParam<bool> {};

TEST_P(DispatcherChaos, EveryBatchExactlyOnceAndInOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  for (int round = 0; round < 40; ++round) {
    Dispatcher::Options options;
    options.lanes_in_order = GetParam();
    options.resend_elsewhere = options.hedge = !GetParam();
    Dispatcher dispatcher(options);
    std::map<std::int64_t, WorkerId> holders;  // by ticket
    const auto lose = [&](WorkerId worker) {
      std::erase_if(holders, [&](const auto& holder) { return holder.second == worker; });
    };
    ReorderBuffer<std::int64_t> buffer(true);
    buffer.Restart(0, [](std::int64_t) {});
    struct Wire {
      Dispatcher::Send send;
      std::int64_t due;
    };
    std::vector<Wire> wire;
    std::vector<std::int64_t> workers;
    std::int64_t next_worker = 1, now = 0, added = 0, delivered = 0, window = 6;
    constexpr std::int64_t kBatches = 60;
    while (delivered < kBatches) {
      now += 1 + static_cast<std::int64_t>(random() % 20);
      ASSERT_LT(now, 60 * 60 * 1000) << "stuck at " << delivered;
      if (workers.empty() || (workers.size() < 4 && chance(3))) {
        workers.push_back(next_worker);
        dispatcher.SetWorker(WorkerId(next_worker++), WorkerState::kReady);
      }
      if (chance(2)) {  // dies
        const std::int64_t dead = workers[random() % workers.size()];
        std::erase(workers, dead);
        std::erase_if(wire, [&](const Wire& w) { return w.send.worker.value == dead; });
        dispatcher.SetWorker(WorkerId(dead), WorkerState::kGone);
        lose(WorkerId(dead));
      } else if (chance(2)) {  // mute for a while, then back
        const WorkerId mute(workers[random() % workers.size()]);
        dispatcher.SetWorker(mute, WorkerState::kSuspected);
        lose(mute);
        dispatcher.SetWorker(mute, WorkerState::kReady);
      }
      while (added < kBatches && added - delivered < window) {
        dispatcher.Add(added, 1 + random() % 100, {}, static_cast<std::int32_t>(added % 3));
        ++added;
      }
      for (const auto& send : dispatcher.Poll(At(now))) {
        if (chance(3)) {
          dispatcher.Unsent(send.attempt);
          continue;
        }
        if (GetParam()) {
          const auto holder = holders.emplace(send.ticket, send.worker).first;
          ASSERT_EQ(holder->second, send.worker) << "batch " << send.ticket << " runs twice";
        }
        if (chance(3)) continue;  // lost on the way
        wire.push_back({send, now + static_cast<std::int64_t>(random() % (chance(5) ? 5000 : 60))});
        if (chance(3)) wire.push_back(wire.back());  // doubled
      }
      for (std::size_t i = 0; i < wire.size();) {
        if (wire[i].due > now) {
          ++i;
          continue;
        }
        const Dispatcher::Send send = wire[i].send;
        wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(i));
        const Answer answer = chance(2)   ? Answer::kNoSession
                              : chance(2) ? Answer::kTooSmall
                                          : Answer::kMade;
        const Verdict verdict =
            dispatcher.OnAnswer(send.worker, send.attempt, answer, send.slot_bytes * 2, At(now));
        if (answer != Answer::kMade) holders.erase(send.ticket);
        if (verdict == Verdict::kTake) {
          ASSERT_TRUE(buffer.Put(send.ticket, send.ticket)) << "taken twice";
        }
      }
      while (auto ticket = buffer.Take()) ASSERT_EQ(*ticket, delivered++);
    }
    EXPECT_EQ(dispatcher.Poll(At(now)).size(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, DispatcherChaos, testing::Bool());

}  // namespace
}  // namespace headrace::client
