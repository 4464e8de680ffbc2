#include "trainer_client/session/batch_queue.h"

#include <map>
#include <utility>
#include <vector>

#include "trainer_client/session/lane_history.h"
#include "trainer_client/session/session_parts_fixture.h"

namespace headrace::client {
namespace {

constexpr WorkerId kHere(1), kThere(2);

Bytes StateOf(int value) { return {static_cast<std::byte>(value)}; }

// One lane, whose batch n is made from the state n on.
class BatchQueueTest : public SessionPartsTest {
 protected:
  BatchQueueTest() : SessionPartsTest(true, {.lanes_in_order = true}) {
    context_.plan.has_python_stage = true;
    book_.Begin();
    EXPECT_TRUE(planner_.Begin({}).ok());
    dispatcher_.SetWorker(kHere, Dispatcher::WorkerState::kReady);
  }
  void Submit(int batches) {
    for (int i = 0; i < batches; ++i) {
      const std::int64_t ticket = book_.Ticket(planner_.Submit({10}));
      book_.Submitted(ticket, {}, {});
      EXPECT_EQ(queue_.TakePlanned({}, {}), ticket);
      history_.Add(ticket, *book_.Find(ticket), {});
    }
  }
  // The tickets that are asked for now, as batches.
  std::vector<std::int64_t> Asked() {
    std::vector<std::int64_t> batches;
    for (const Dispatcher::Send& send : dispatcher_.Poll({})) {
      batches.push_back(BatchBook::BatchOf(send.ticket));
      attempts_[send.ticket] = send.attempt;
    }
    return batches;
  }
  // The next batch in order is made, and waits for the trainer.
  void Make(WorkerId maker) {
    ASSERT_EQ(Asked(), std::vector<std::int64_t>{made_});
    const std::int64_t ticket = book_.Ticket(made_);
    ASSERT_EQ(dispatcher_.OnAnswer(kHere, attempts_[ticket], Dispatcher::Answer::kMade, 0, {}),
              Dispatcher::Verdict::kTake);
    const bool here = maker == kHere;
    history_.Made(0, ticket, here, [] { return 7; });
    book_.Keep(ticket, maker, made_ == 0 ? Bytes() : StateOf(made_));
    (void)book_.Done(ticket);
    lanes_.Made(0, StateOf(++made_), false);
    ReadyBatch ready;
    ready.batch.batch = made_ - 1;
    mailbox_.Put(made_ - 1, std::move(ready));
  }
  std::int64_t Take() {
    const BatchMailbox::Taken taken = Next();
    return taken.batch ? taken.batch->batch.batch : -1;
  }

  LaneHistory history_{1 << 20};
  std::map<std::int64_t, std::uint32_t> attempts_;
  int made_ = 0;
};

TEST_F(BatchQueueTest, WhatFollowsAWrongBatchIsMadeAgainToo) {
  Submit(5);
  Make(kHere);
  Make(kThere);
  Make(kHere);
  EXPECT_EQ(Asked(), std::vector<std::int64_t>{3});
  queue_.MakeAgain(kThere);
  EXPECT_EQ(lanes_.state(0), StateOf(1)) << "before its first wrong batch";
  EXPECT_EQ(book_.InLane(0).size(), 4U);
  EXPECT_EQ(Asked(), std::vector<std::int64_t>{1}) << "what was asked of the lane is void";
  EXPECT_EQ(Take(), 0);
  EXPECT_EQ(Take(), -1);
}

TEST_F(BatchQueueTest, WhatTheTrainerHasTakenStaysTaken) {
  Submit(3);
  Make(kThere);
  Make(kThere);
  EXPECT_EQ(Take(), 0);
  queue_.CloseDelivered();
  EXPECT_EQ(book_.taken().at(kThere).batches, std::vector<std::int64_t>{0});
  queue_.MakeAgain(kThere);
  EXPECT_EQ(lanes_.state(0), StateOf(1));
  EXPECT_EQ(Asked(), std::vector<std::int64_t>{1});
}

TEST_F(BatchQueueTest, ALaneThatWasRightAllAlongGoesOn) {
  Submit(3);
  Make(kHere);
  Make(kHere);
  queue_.MakeAgain(kThere);
  EXPECT_EQ(lanes_.state(0), StateOf(2));
  EXPECT_EQ(Take(), 0);
  EXPECT_EQ(Take(), 1);
}

TEST_F(BatchQueueTest, AReplayMakesAllOfTheLaneFromItsBeginning) {
  Submit(3);
  Make(kHere);
  Make(kThere);
  EXPECT_EQ(Take(), 0);
  queue_.CloseDelivered();
  EXPECT_EQ(Asked(), std::vector<std::int64_t>{2});
  const BatchQueue::Replayed replayed = queue_.ReplayLane(0, history_.Again(0));
  EXPECT_EQ(replayed.taken, std::vector<std::int64_t>{book_.Ticket(0)})
      << "the second one was not taken: it counts when it comes";
  EXPECT_EQ(replayed.waited, 1);
  EXPECT_TRUE(lanes_.state(0).empty());
  EXPECT_EQ(book_.InLane(0).size(), 3U);
  EXPECT_EQ(Asked(), std::vector<std::int64_t>{0});
  EXPECT_EQ(Take(), -1);
}

TEST_F(BatchQueueTest, BatchesOfAnIterationBeforeAreMadeNoMore) {
  Submit(3);
  Make(kHere);
  book_.Begin();
  queue_.Restart(0);
  queue_.CancelEarlier();
  EXPECT_TRUE(Asked().empty());
  EXPECT_TRUE(book_.nothing_pending());
  EXPECT_EQ(Take(), -1);
}

TEST_F(BatchQueueTest, WhatIsPlannedAfterTheEndOfItsIterationIsNotMade) {
  (void)planner_.Submit({10});
  book_.End();
  EXPECT_FALSE(queue_.TakePlanned({}, {}));
  book_.Begin();
  EXPECT_TRUE(queue_.TakePlanned({}, {}));
}

}  // namespace
}  // namespace headrace::client
