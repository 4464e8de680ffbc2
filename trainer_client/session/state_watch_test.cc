#include "trainer_client/session/state_watch.h"

#include <optional>
#include <utility>
#include <vector>

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
