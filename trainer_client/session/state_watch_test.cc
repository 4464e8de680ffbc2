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

}  // namespace
}  // namespace headrace::client
