#include "trainer_client/session/batch_book.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/test_time.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr WorkerId kMaker(3);

Bytes Of(int value) { return {static_cast<std::byte>(value)}; }

class BatchBookTest : public testing::Test {
 protected:
  BatchBookTest() { book_.Begin(); }
  // Submits and plans it.
  std::int64_t Add(std::int64_t batch, std::int32_t lane = 0) {
    const std::int64_t ticket = book_.Ticket(batch);
    book_.Submitted(ticket, At(1), Of(static_cast<int>(batch)));
    PlannedBatch planned;
    planned.batch = batch;
    planned.lane = lane;
    planned.keys = {batch * 10};
    book_.Planned(ticket, std::move(planned), At(2), At(3));
    return ticket;
  }

  BatchBook book_;
};

TEST_F(BatchBookTest, TicketsGrowFromIterationToIteration) {
  const std::int64_t last = book_.Ticket(1'000'000'000);
  EXPECT_EQ(BatchBook::BatchOf(last), 1'000'000'000);
  EXPECT_EQ(BatchBook::IterationOf(last), book_.iteration());
  EXPECT_TRUE(book_.Current(last));
  book_.End();
  EXPECT_GT(book_.Ticket(0), last);
  EXPECT_FALSE(book_.Current(last));
}

TEST_F(BatchBookTest, ABatchIsKnownUntilItIsDone) {
  const std::int64_t ticket = Add(4);
  const PlannedBatch* planned = book_.Find(ticket);
  ASSERT_NE(planned, nullptr);
  Add(5);
  Add(3);
  EXPECT_EQ(book_.Find(ticket), planned) << "others look at its keys";
  EXPECT_EQ(book_.index(ticket), Of(4));
  const std::optional<PlannedBatch> done = book_.Done(ticket);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->keys, std::vector<std::int64_t>{40});
  EXPECT_EQ(book_.Find(ticket), nullptr);
  EXPECT_TRUE(book_.index(ticket).empty());
  EXPECT_FALSE(book_.Done(ticket));
}

TEST_F(BatchBookTest, ItsTimesAreTakenOnce) {
  const std::int64_t ticket = Add(4);
  const BatchTimeline timeline = book_.TakeTimeline(ticket, At(9));
  EXPECT_EQ(timeline.submitted, At(1));
  EXPECT_EQ(timeline.served, At(2));
  EXPECT_EQ(timeline.planned, At(3));
  EXPECT_EQ(timeline.ready, At(9));
  EXPECT_EQ(book_.TakeTimeline(ticket, At(9)).submitted, SteadyTime());
}

TEST_F(BatchBookTest, WhatIsPendingIsToldByIterationAndLane) {
  const std::int64_t earlier = Add(0);
  EXPECT_TRUE(book_.nothing_earlier());
  book_.Begin();
  EXPECT_FALSE(book_.nothing_earlier());
  const std::int64_t third = Add(3), first = Add(1);
  Add(2, 1);
  EXPECT_EQ(book_.InLane(0), (std::vector<std::int64_t>{first, third}));
  (void)book_.Done(earlier);
  EXPECT_TRUE(book_.nothing_earlier());
  EXPECT_FALSE(book_.nothing_pending());
  book_.DropPending();
  EXPECT_TRUE(book_.nothing_pending());
  EXPECT_TRUE(book_.index(first).empty());
}

TEST_F(BatchBookTest, ABatchIsKeptAsItWasAskedUntilItIsTaken) {
  const std::int64_t ticket = Add(4);
  book_.Keep(ticket, kMaker, Of(7));
  (void)book_.Done(ticket);
  std::optional<BatchBook::Kept> kept = book_.TakeKept(ticket);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->lane_state, Of(7));
  EXPECT_EQ(kept->worker, kMaker);
  EXPECT_EQ(kept->index, Of(4));
  book_.Again(ticket, std::move(kept->planned), std::move(kept->index));
  EXPECT_EQ(book_.index(ticket), Of(4));
  book_.Keep(ticket, kMaker, Of(7));
  (void)book_.Done(ticket);
  book_.Taken(4);
  book_.Taken(5);
  EXPECT_TRUE(book_.kept().empty());
  ASSERT_TRUE(book_.taken().contains(kMaker));
  EXPECT_EQ(book_.taken().at(kMaker).consumed, 1U);
  EXPECT_EQ(book_.taken().at(kMaker).batches, std::vector<std::int64_t>{4});
}

TEST_F(BatchBookTest, OfIterationsBeforeOnlyTheCountStays) {
  const std::int64_t ticket = Add(4);
  book_.Keep(ticket, kMaker, {});
  book_.Taken(4);
  book_.End();
  EXPECT_EQ(book_.taken().at(kMaker).batches.size(), 1U) << "until another one begins";
  book_.Begin();
  EXPECT_EQ(book_.taken().at(kMaker).consumed, 1U);
  EXPECT_TRUE(book_.taken().at(kMaker).batches.empty());
  book_.Keep(ticket, kMaker, {});
  EXPECT_TRUE(book_.kept().empty());
}

}  // namespace
}  // namespace headrace::client
