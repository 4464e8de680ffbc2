#include "trainer_client/draws/lane_generator.h"

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

class LaneGeneratorTest : public testing::Test {
 protected:
  LaneGeneratorTest() { lane_.Begin(ops::Generators(7)); }
  // Plans a batch that draws so often.
  LaneGenerator::Place Plan(std::uint64_t draws) {
    lane_.now().torch.Discard(draws);
    return lane_.place();
  }
  // The state of the lane's seed after this many draws.
  static Bytes StateAt(std::uint64_t draws, std::uint64_t seed = 7) {
    return ops::TorchGenerator::At(seed, draws).TorchState();
  }

  LaneGenerator lane_;
};

TEST_F(LaneGeneratorTest, ALaneIsResumedAfterTheLastDeliveredBatch) {
  const auto first = Plan(5), second = Plan(5);
  EXPECT_EQ(lane_.delivered().draws, 0U);
  lane_.Delivered(1, second, {});
  lane_.Delivered(0, first, {});  // out of order
  EXPECT_EQ(lane_.delivered().draws, 10U);
  lane_.Begin();
  lane_.Delivered(0, first, {});  // of the next iteration
  EXPECT_EQ(lane_.delivered().draws, 5U);
}

TEST_F(LaneGeneratorTest, WhatNobodyGetsIsPassed) {
  Plan(5);
  EXPECT_EQ(lane_.delivered().draws, 0U);
  lane_.Pass();
  EXPECT_EQ(lane_.delivered().draws, 5U);
}

TEST_F(LaneGeneratorTest, DrawsOfTheTrainerAreCounted) {
  Plan(5);
  ASSERT_TRUE(lane_.MoveTo(StateAt(5)).ok());
  EXPECT_EQ(lane_.place().draws, 5U) << "it drew nothing";
  ASSERT_TRUE(lane_.MoveTo(StateAt(2000)).ok());
  EXPECT_EQ(lane_.place().draws, 2000U);
  EXPECT_TRUE(lane_.place().resumable);
}

// ElasticTransform draws two numbers for each pixel.
TEST_F(LaneGeneratorTest, DrawsForALargePictureAreCounted) {
  constexpr std::uint64_t kDraws = 2 * 1024 * 1024;
  Plan(5);
  ASSERT_TRUE(lane_.MoveTo(StateAt(5 + kDraws)).ok());
  EXPECT_EQ(lane_.place().draws, 5 + kDraws);
  EXPECT_TRUE(lane_.place().resumable);
}

TEST_F(LaneGeneratorTest, AnotherSeedCannotBeCounted) {
  Plan(5);
  ASSERT_TRUE(lane_.MoveTo(StateAt(9, 8)).ok());
  EXPECT_FALSE(lane_.place().resumable);
  EXPECT_EQ(lane_.now().State(), StateAt(9, 8));
  EXPECT_EQ(lane_.MoveTo({}).code(), Code::kInvalidArgument);
  EXPECT_EQ(lane_.now().State(), StateAt(9, 8));
}

TEST_F(LaneGeneratorTest, PlanningGoesBackToADeliveredBatch) {
  const ops::Generators start = lane_.now();
  lane_.Delivered(0, Plan(5), start);
  Plan(100);
  ASSERT_TRUE(lane_.MoveBackTo(0, StateAt(8)).ok());
  EXPECT_EQ(lane_.place().draws, 8U);
  EXPECT_EQ(lane_.delivered().draws, 8U);
  EXPECT_TRUE(lane_.delivered().resumable);
}

TEST_F(LaneGeneratorTest, PlanningGoesBackWithoutTheTrainersPlaceForAnEarlierBatch) {
  lane_.Delivered(1, Plan(5), {});
  ASSERT_TRUE(lane_.MoveBackTo(0, StateAt(8)).ok());
  EXPECT_EQ(lane_.place().draws, 8U);
  EXPECT_EQ(lane_.delivered().draws, 5U);
}

}  // namespace
}  // namespace headrace::client
