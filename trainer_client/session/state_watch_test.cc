#include "trainer_client/session/state_watch.h"

#include <optional>
#include <utility>
#include <vector>

#include "trainer_client/session/delivery.h"
#include "trainer_client/session/session_parts_fixture.h"

namespace headrace::client {
namespace {

constexpr WorkerId kUnlinked(2);  // not linked: not one that was given the lanes

// One lane in Python, whose batches are all made elsewhere; all parts are there, but no worker.
class StateWatchTest : public SessionPartsTest {
 protected:
  explicit StateWatchTest(bool compares = true) : SessionPartsTest(true, {.lanes_in_order = true}) {
    context_.plan.has_python_stage = true;
    context_.plan.rng = RngMode::kTorch;
    watch_.emplace(compares, StateWatch::Parts{.context = context_,
                                               .workers = workers_,
                                               .book = book_,
                                               .lanes = lanes_,
                                               .queue = queue_,
                                               .mailbox = mailbox_});
    book_.Begin();
    EXPECT_TRUE(planner_.Begin({}).ok());
    watch_->Begin();
  }
  // Asks for the next batch; it is made elsewhere, and the trainer takes it.
  std::int64_t MakeAndTake(int content) {
    const std::int64_t ticket = book_.Ticket(planner_.Submit({10}));
    EXPECT_EQ(queue_.TakePlanned({}, {}), ticket);
    watch_->Planned(ticket);
    watch_->Asked(kUnlinked, ticket);
    Make(ticket, content);
    book_.Keep(ticket, kUnlinked, {});
    (void)book_.Done(ticket);
    ReadyBatch ready;
    ready.batch.batch = BatchBook::BatchOf(ticket);
    mailbox_.Put(ready.batch.batch, std::move(ready));
    EXPECT_TRUE(Next().batch);
    return ticket;
  }
  // Asks for the next batch; it is made, and waits for the trainer.
  std::int64_t MakeOnly(int content) {
    const std::int64_t ticket = book_.Ticket(planner_.Submit({10}));
    EXPECT_EQ(queue_.TakePlanned({}, {}), ticket);
    watch_->Planned(ticket);
    watch_->Asked(kUnlinked, ticket);
    Make(ticket, content);
    Put(ticket);
    return ticket;
  }
  // What is made of a batch is put where the trainer takes it.
  void Put(std::int64_t ticket) {
    (void)book_.Done(ticket);
    ReadyBatch ready;
    ready.batch.batch = BatchBook::BatchOf(ticket);
    mailbox_.Put(ready.batch.batch, std::move(ready));
  }
  void Make(std::int64_t ticket, int content) {
    wire::BatchDone done;
    done.pickle = {static_cast<std::byte>(content)};
    watch_->Made(kUnlinked, ticket, done, {});
  }
  std::optional<StateWatch> watch_;
};

class NotElsewhereTest : public StateWatchTest {
 protected:
  NotElsewhereTest() : StateWatchTest(false) {}
};

TEST_F(StateWatchTest, WhatTheTrainerHasTakenIsMadeOnceMoreAndCompared) {
  const std::int64_t first = MakeAndTake(1), second = MakeAndTake(2);
  EXPECT_TRUE(watch_->shadows());
  watch_->OnStateChange(kUnlinked, "a counter");
  EXPECT_TRUE(watch_->stays());
  EXPECT_FALSE(watch_->shadows());
  EXPECT_EQ(watch_->Undecided(), 2);
  const std::optional<StateChange> seen = Next().change;
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->judged);
  EXPECT_EQ(seen->what, "a counter");
  EXPECT_EQ(seen->worker, kUnlinked.value);
  Make(first, 1);
  EXPECT_TRUE(watch_->Replayed(first));
  EXPECT_FALSE(watch_->Replayed(first)) << "asked once";
  EXPECT_FALSE(Next().change);
  Make(second, 3);
  EXPECT_TRUE(watch_->Replayed(second));
  const std::optional<StateChange> judged = Next().change;
  ASSERT_TRUE(judged);
  EXPECT_TRUE(judged->judged);
  EXPECT_EQ(judged->differing.consumed, 1U);
  EXPECT_EQ(judged->differing.batches, std::vector<std::int64_t>{BatchBook::BatchOf(second)});
}

TEST_F(StateWatchTest, WhatCannotBeMadeAgainDiffers) {
  const std::int64_t ticket = MakeAndTake(1);
  watch_->OnStateChange(kUnlinked, "a counter");
  EXPECT_TRUE(Next().change);
  watch_->Failed(ticket + 1);  // not replayed: the trainer makes it itself
  watch_->Failed(ticket);
  EXPECT_TRUE(watch_->Replayed(ticket));
  const std::optional<StateChange> judged = Next().change;
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->differing.consumed, 1U);
}

TEST_F(StateWatchTest, ItIsSeenOnce) {
  watch_->OnStateChange(kUnlinked, "");
  EXPECT_FALSE(watch_->stays());
  watch_->OnStateChange(kUnlinked, "a counter");
  EXPECT_FALSE(Next().change->judged);
  EXPECT_TRUE(Next().change->judged) << "nothing was made";
  watch_->OnStateChange(kUnlinked, "another");
  EXPECT_FALSE(Next().change);
}

TEST_F(StateWatchTest, TheEndOfTheIterationEndsItsReplay) {
  const std::int64_t ticket = MakeAndTake(1);
  watch_->OnStateChange(kUnlinked, "a counter");
  watch_->End();
  EXPECT_EQ(watch_->Undecided(), 0);
  EXPECT_FALSE(watch_->Replayed(ticket));
}

TEST_F(NotElsewhereTest, CodeThatRunsHereMayKeepWhatItLikes) {
  watch_->OnStateChange(kUnlinked, "a counter");
  EXPECT_FALSE(watch_->stays());
  EXPECT_FALSE(watch_->shadows());
  EXPECT_FALSE(Next().change);
}

TEST_F(NotElsewhereTest, WhatWaitsIsMadeAgainAndWhatWasTakenIsMadeForTheLaneAlone) {
  watch_->Begin(true);
  const std::int64_t taken = MakeAndTake(1), waits = MakeOnly(2);
  const std::vector<std::int32_t> lanes{0};
  const Result<std::int64_t> again = watch_->MakeAgain(lanes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(*again, 1);
  EXPECT_FALSE(Next().batch) << "it was taken back";
  EXPECT_EQ(watch_->Undecided(), 0) << "nobody waits for a verdict";
  ASSERT_NE(book_.Find(taken), nullptr);
  ASSERT_NE(book_.Find(waits), nullptr);
  Make(taken, 7);
  EXPECT_TRUE(watch_->Replayed(taken));
  (void)book_.Done(taken);
  Make(waits, 8);
  EXPECT_FALSE(watch_->Replayed(waits)) << "the trainer gets it";
  Put(waits);
  const BatchMailbox::Taken next = Next();
  ASSERT_TRUE(next.batch);
  EXPECT_EQ(next.batch->batch.batch, BatchBook::BatchOf(waits));
  EXPECT_FALSE(Next().change) << "nothing is told of it";
}

// Three batches of the lane are out. What the life before answers late is of no use to the next one.
TEST_F(NotElsewhereTest, WhatIsOutIsAskedForAgainInOrderAndLateAnswersAreDropped) {
  using Answer = Dispatcher::Answer;
  using Verdict = Dispatcher::Verdict;
  constexpr WorkerId kThird(3);
  dispatcher_.SetLaneWindow(3);
  dispatcher_.SetWorker(kUnlinked, Dispatcher::WorkerState::kReady);
  watch_->Begin(true);
  std::vector<std::int64_t> tickets;
  for (int i = 0; i < 6; ++i) {
    tickets.push_back(book_.Ticket(planner_.Submit({10})));
    EXPECT_EQ(queue_.TakePlanned({}, {}), tickets.back());
    watch_->Planned(tickets.back());
  }
  const auto ask = [&] {
    std::vector<Dispatcher::Send> sends = dispatcher_.Poll({});
    for (const auto& send : sends) watch_->Asked(send.worker, send.ticket);
    return sends;
  };
  const auto answer = [&](const Dispatcher::Send& send) {
    return dispatcher_.OnAnswer(send.worker, send.attempt, Answer::kMade, 0, {});
  };
  const auto make = [&](const Dispatcher::Send& send, int content) {
    EXPECT_EQ(answer(send), Verdict::kTake);
    Make(send.ticket, content);
    if (watch_->Replayed(send.ticket)) {
      (void)book_.Done(send.ticket);
    } else {
      Put(send.ticket);
    }
  };
  // The trainer has the first batch; the second one waits; three are out.
  make(ask().at(0), 1);
  EXPECT_TRUE(Next().batch);
  const auto old = ask();
  ASSERT_EQ(old.size(), 3U);
  make(old[0], 2);
  const auto last = ask();
  ASSERT_EQ(last.size(), 1U);
  dispatcher_.SetWorker(kThird, Dispatcher::WorkerState::kReady);

  const std::vector<std::int32_t> lanes{0};
  EXPECT_EQ(watch_->MakeAgain(lanes).value(), 1);
  EXPECT_EQ(answer(old[1]), Verdict::kDrop) << "before anything is asked for again";
  auto again = ask();
  ASSERT_EQ(again.size(), 3U);
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].ticket, tickets[i]);
    EXPECT_EQ(again[i].worker, again[0].worker);
  }
  EXPECT_EQ(answer(old[2]), Verdict::kDrop);
  EXPECT_TRUE(ask().empty()) << "it was asked for in the life before";
  make(again[0], 3);
  EXPECT_FALSE(Next().batch) << "it was taken";
  EXPECT_EQ(answer(last[0]), Verdict::kDrop);
  for (std::size_t i = 3; i < tickets.size(); ++i) {
    const auto next = ask();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].ticket, tickets[i]);
    EXPECT_EQ(next[0].worker, again[0].worker);
    again.push_back(next[0]);
    make(again[i - 2], 4);
  }
  make(again[4], 4);
  make(again[5], 4);
  for (std::size_t i = 1; i < tickets.size(); ++i) {
    const BatchMailbox::Taken next = Next();
    ASSERT_TRUE(next.batch) << i;
    EXPECT_EQ(next.batch->batch.batch, BatchBook::BatchOf(tickets[i]));
  }
  EXPECT_FALSE(Next().batch) << "each comes once";
}

// No worker could make it, so the trainer made it itself.
TEST_F(NotElsewhereTest, WhatFailedAndWasTakenIsMadeForTheLaneAlone) {
  watch_->Begin(true);
  const std::int64_t ticket = book_.Ticket(planner_.Submit({10}));
  EXPECT_EQ(queue_.TakePlanned({}, {}), ticket);
  watch_->Planned(ticket);
  watch_->Failed(ticket);
  Put(ticket);
  EXPECT_TRUE(Next().batch);
  const std::int64_t waits = MakeOnly(2);
  const std::vector<std::int32_t> lanes{0};
  EXPECT_EQ(watch_->MakeAgain(lanes).value(), 1);
  EXPECT_FALSE(watch_->Replayed(waits));
  EXPECT_TRUE(watch_->Replayed(ticket)) << "it would be given twice";
}

TEST_F(StateWatchTest, WhatFailedAndWasTakenIsComparedWithNothing) {
  const std::int64_t wrong = MakeAndTake(1);
  const std::int64_t ticket = book_.Ticket(planner_.Submit({10}));
  EXPECT_EQ(queue_.TakePlanned({}, {}), ticket);
  watch_->Planned(ticket);
  Put(ticket);
  EXPECT_TRUE(Next().batch);
  watch_->OnStateChange(kUnlinked, "a counter");
  EXPECT_FALSE(Next().change->judged);
  EXPECT_EQ(watch_->Undecided(), 2);
  Make(wrong, 2);
  EXPECT_TRUE(watch_->Replayed(wrong));
  Make(ticket, 3);
  EXPECT_TRUE(watch_->Replayed(ticket));
  const std::optional<StateChange> judged = Next().change;
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->differing.consumed, 1U);
}

// Whatever comes to the trainer once more keeps no memory.
TEST_F(NotElsewhereTest, ABatchThatWasTakenGivesItsSlotBack) {
  const std::int64_t ticket = MakeAndTake(1);
  Delivery delivery({.plan = context_.plan,
                     .book = book_,
                     .planner = planner_,
                     .dispatcher = dispatcher_,
                     .mailbox = mailbox_,
                     .sizes = sizes_,
                     .loans = loans_,
                     .clock = clock_});
  const std::optional<Slot> slot = loans_.Acquire(4096, false, false);
  ASSERT_TRUE(slot);
  EXPECT_EQ(arena_->counts().lent, 1);
  wire::BatchDone done;
  done.pickle = {std::byte{1}};
  done.buffer_offsets = {0};
  done.buffer_sizes = {64};
  done.used_bytes = 64;
  PlannedBatch planned;
  planned.batch = BatchBook::BatchOf(ticket);
  planned.keys = {10};
  delivery.Made(planned, {}, {.slot = *slot, .worker = kUnlinked, .ticket = ticket, .arena = true},
                {}, std::move(done));
  EXPECT_FALSE(Next().batch);
  EXPECT_EQ(arena_->counts().lent, 0);
  EXPECT_EQ(arena_->counts().ready, 0);
}

TEST_F(NotElsewhereTest, WithoutDoubtsNothingIsRememberedAndNothingMadeAgain) {
  watch_->Begin(false);
  (void)MakeOnly(1);
  const std::vector<std::int32_t> lanes{0};
  EXPECT_EQ(watch_->MakeAgain(lanes).status().code(), Code::kUnsupported);
  EXPECT_TRUE(Next().batch);
}

TEST_F(NotElsewhereTest, MoreThanIsRememberedIsNotMadeAgain) {
  watch_->Begin(true);
  constexpr std::size_t kKeys = std::size_t{1} << 20;  // 8 MiB of them
  for (int i = 0; i < 9; ++i) {
    const std::int64_t ticket = book_.Ticket(planner_.Submit(std::vector<std::int64_t>(kKeys, 10)));
    ASSERT_EQ(queue_.TakePlanned({}, {}), ticket);
    watch_->Planned(ticket);
  }
  const std::vector<std::int32_t> lanes{0};
  EXPECT_EQ(watch_->MakeAgain(lanes).status().code(), Code::kUnsupported);
}

TEST_F(StateWatchTest, AReplayOfDoubtTellsNoVerdict) {
  watch_->Begin(true);
  const std::int64_t ticket = MakeAndTake(1);
  const std::vector<std::int32_t> lanes{0};
  EXPECT_EQ(watch_->MakeAgain(lanes).value(), 0);
  Make(ticket, 2);
  EXPECT_TRUE(watch_->Replayed(ticket));
  EXPECT_FALSE(Next().change);
}

TEST_F(NotElsewhereTest, ADoubtIsToldOnceBeforeTheNextBatch) {
  std::uint64_t doubts = 5;
  mailbox_.TellOf(&doubts);
  (void)MakeOnly(1);
  (void)MakeOnly(2);
  EXPECT_TRUE(Next().batch) << "the number was known";
  doubts = 3;
  const BatchMailbox::Taken told = Next();
  EXPECT_TRUE(told.doubt);
  EXPECT_FALSE(told.batch);
  EXPECT_TRUE(Next().batch);
  mailbox_.TellOf(nullptr);
  EXPECT_FALSE(Next().doubt);
}

}  // namespace
}  // namespace headrace::client
