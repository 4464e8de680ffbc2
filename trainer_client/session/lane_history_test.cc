// Which batches of a lane are a stock worker's.
#include "trainer_client/session/lane_history.h"

#include <functional>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

class LaneHistoryTest : public testing::Test {
 protected:
  void Add(std::int32_t lane, std::int64_t ticket) {
    PlannedBatch planned;
    planned.lane = lane;
    planned.batch = ticket;
    planned.keys = {ticket};
    history_.Add(ticket, planned, {});
  }
  void Here(std::int32_t lane, std::int64_t ticket) {
    history_.AskedHere(lane, ticket);
    history_.Made(lane, ticket, true, [this] { return ++hashed_; });
  }
  void There(std::int32_t lane, std::int64_t ticket) {
    history_.Made(lane, ticket, false, [this] { return ++hashed_; });
  }

  LaneHistory history_{kPlenty};
  std::uint64_t hashed_ = 0;
};

TEST_F(LaneHistoryTest, ALaneThatMadeAllIsRightAndNothingIsHashed) {
  for (std::int64_t ticket = 0; ticket < 4; ++ticket) Add(0, ticket);
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Here(0, ticket);
  EXPECT_TRUE(history_.Right(0));
  history_.AskedHere(0, 2);  // its answer went lost
  Here(0, 3);
  EXPECT_TRUE(history_.Right(0));
  EXPECT_TRUE(history_.Wrong().empty());
  EXPECT_EQ(hashed_, 0U);
}

TEST_F(LaneHistoryTest, ABatchOfAnotherHostIsWrongAndSoIsWhatComesAfterIt) {
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Add(0, ticket);
  Add(1, 3);
  Here(0, 0);
  There(0, 1);
  EXPECT_FALSE(history_.Right(0));
  Here(0, 2);
  Here(1, 3);
  EXPECT_EQ(history_.Wrong(), std::vector<std::int32_t>{0});
  EXPECT_TRUE(history_.entry(0, 0)->right);
  EXPECT_FALSE(history_.entry(0, 1)->right);
  EXPECT_FALSE(history_.entry(0, 2)->right);
  EXPECT_NE(history_.entry(0, 2)->hash, 0U);
}

TEST_F(LaneHistoryTest, ABatchMadeTwiceWithAnotherBetweenBendsTheLane) {
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Add(0, ticket);
  Here(0, 0);
  Here(0, 1);
  history_.AskedHere(0, 0);
  EXPECT_FALSE(history_.Right(0));
}

TEST_F(LaneHistoryTest, ABatchThatWasLeftOutBendsTheLane) {
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Add(0, ticket);
  history_.AskedHere(0, 1);
  EXPECT_FALSE(history_.Right(0));
}

TEST_F(LaneHistoryTest, ALaneThatBeginsAgainMakesAllInOrder) {
  const Bytes begin{std::byte{7}};
  history_.Began(0, begin);
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Add(0, ticket);
  Here(0, 0);
  There(0, 1);
  const LaneHistory::Lane& again = history_.Again(0);
  EXPECT_EQ(again.begin, begin);
  ASSERT_EQ(again.entries.size(), 3U);
  for (std::int64_t ticket = 0; ticket < 3; ++ticket) Here(0, ticket);
  EXPECT_TRUE(history_.Right(0));
}

TEST_F(LaneHistoryTest, MoreThanItRemembersIsNotComplete) {
  LaneHistory small(sizeof(LaneHistory::Entry) + 100);
  PlannedBatch planned;
  planned.keys = {1};
  small.Add(0, planned, {});
  EXPECT_TRUE(small.complete());
  small.Add(1, planned, {});
  EXPECT_FALSE(small.complete());
  EXPECT_FALSE(small.Right(0));
  small.Restart();
  EXPECT_TRUE(small.complete());
}

TEST(HashOfTest, EachPartOfABatchCounts) {
  const Bytes memory{std::byte{1}, std::byte{2}, std::byte{3}};
  const wire::BatchDone plain;
  const auto differs = [&](const std::function<void(wire::BatchDone&)>& change) {
    wire::BatchDone done;
    change(done);
    return HashOf(done, memory) != HashOf(plain, memory);
  };
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.pickle = {std::byte{1}}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.python_error = {std::byte{1}}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.lane_state = {std::byte{1}}; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.samples = 3; }));
  EXPECT_TRUE(differs([](wire::BatchDone& done) { done.lane_ended = true; }));
  wire::BatchDone done;
  done.buffer_offsets = {0};
  done.buffer_sizes = {3};
  const Bytes other{std::byte{1}, std::byte{2}, std::byte{4}};
  EXPECT_NE(HashOf(done, memory), HashOf(done, other));
  EXPECT_EQ(HashOf(done, memory), HashOf(done, Bytes(memory)));
}

}  // namespace
}  // namespace headrace::client
