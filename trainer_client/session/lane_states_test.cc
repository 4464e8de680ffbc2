#include "trainer_client/session/lane_states.h"

#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

Bytes Of(int value) { return {static_cast<std::byte>(value)}; }

class LaneStatesTest : public testing::Test {
 protected:
  void Ask(bool end) {
    states_.Ask(end, [this](Result<std::vector<Bytes>> answer) { told_ = *answer; });
  }

  LaneStates states_{3};
  std::optional<std::vector<Bytes>> told_;
};

TEST_F(LaneStatesTest, ALaneGoesOnFromItsLastBatch) {
  const std::vector<Bytes> begins = {Of(1), Bytes()};
  states_.Begin(begins);
  EXPECT_EQ(states_.state(0), Of(1));
  EXPECT_TRUE(states_.state(1).empty());
  EXPECT_EQ(states_.Made(1, Of(5), false), Of(5));
  EXPECT_EQ(states_.state(1), Of(5));
  EXPECT_EQ(states_.state(0), Of(1));
  states_.Begin({});
  EXPECT_TRUE(states_.state(0).empty());
}

TEST_F(LaneStatesTest, ALaneCanGoBack) {
  states_.Made(0, Of(5), false);
  states_.Restore(0, Of(2));
  EXPECT_EQ(states_.state(0), Of(2));
  states_.Restore(0, {});
  EXPECT_TRUE(states_.state(0).empty());
}

TEST_F(LaneStatesTest, TheEndIsToldWhenAllIsMade) {
  Ask(true);
  states_.Answer(false, true);
  EXPECT_FALSE(told_);
  states_.Made(2, Of(5), false);
  states_.Made(9, Of(6), false);  // no such lane
  states_.Answer(true, true);
  EXPECT_EQ(told_, (std::vector<Bytes>{{}, {}, Of(5)}));
  told_.reset();
  states_.Answer(true, true);
  EXPECT_FALSE(told_) << "told once";
}

TEST_F(LaneStatesTest, AnIterationThatGoesOnBeginsAfterTheOneBefore) {
  states_.Made(0, Of(1), false);
  states_.GoOn();
  Ask(false);
  states_.Answer(false, false);
  EXPECT_FALSE(told_);
  states_.Made(1, Of(2), true);
  states_.Made(0, Of(3), false);
  states_.Answer(false, true);
  EXPECT_EQ(told_, (std::vector<Bytes>{Of(1), Of(2), {}}));
}

}  // namespace
}  // namespace headrace::client
