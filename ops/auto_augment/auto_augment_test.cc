#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/augment/augment_test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

// One policy: a translation and an inversion.
Node Auto(std::vector<double> probabilities, std::int64_t api = 1) {
  Args args = AugmentArgs(10);
  args["policy_ops"] = std::vector<std::int64_t>{kTranslateX, kInvert};
  args["policy_probabilities"] = std::move(probabilities);
  args["policy_magnitudes"] = std::vector<std::int64_t>{9, -1};
  args["api"] = api;
  return MakeNode("auto_augment", args);
}

TEST(AutoAugment, V1DrawsAllOfIt) {
  for (const std::vector<double>& probabilities : {std::vector<double>{0, 0}, {1, 1}}) {
    TorchGenerator rng(5);
    ASSERT_TRUE(DrawNode(Auto(probabilities), RgbSpec(2, 2), rng).ok());
    EXPECT_EQ(rng.draws(), 5U);
  }
}

TEST(AutoAugment, V2DrawsASignForWhatHappens) {
  TorchGenerator rng(5);
  ASSERT_TRUE(DrawNode(Auto({0, 0}, 2), RgbSpec(2, 2), rng).ok());
  EXPECT_EQ(rng.draws(), 3U);
  const auto params = DrawNode(Auto({1, 1}, 2), RgbSpec(2, 2), rng);
  EXPECT_EQ(rng.draws(), 3U + 4U);
  ASSERT_TRUE(params.ok());
  EXPECT_EQ((*params)[0], kTranslateX);
  EXPECT_TRUE((*params)[1] == 9 || (*params)[1] == -10);
  EXPECT_THAT((*params)[2], kInvert);
}

TEST(AutoAugment, WhatDoesNotHappenIsTheIdentity) {
  for (const std::int64_t api : {1, 2}) {
    TorchGenerator rng(5);
    const auto params = DrawNode(Auto({0, 0}, api), RgbSpec(2, 2), rng);
    ASSERT_TRUE(params.ok());
    EXPECT_EQ((*params)[0], kIdentity);
    EXPECT_EQ((*params)[2], kIdentity);
  }
}

TEST(AutoAugment, BothStepsAreMade) {
  // 150 / 331 of 10 pixels are 4, in the last bin.
  EXPECT_THAT(RunPixels({Auto({1, 1})}, GraySpec(1, 10), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                        {kTranslateX, -10, kInvert, 0})
                  .values,
              ElementsAre(250, 249, 248, 247, 246, 245, 255, 255, 255, 255));
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(
      RunPixels({Auto({1, 1})}, GraySpec(1, 1), {1}, {kTranslateX, kLeast, 0, 0}).status.code(),
      Code::kInvalidArgument);
}

TEST(AutoAugment, PoliciesThatDoNotFitAreRefused) {
  const auto code = [](const std::string& name, const ArgValue& value) {
    Node node = Auto({1, 1});
    node.args[name] = value;
    return RunPixels({node}, RgbSpec(1, 1), {1, 2, 3}).status.code();
  };
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(code("policy_ops", Ints{3}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_ops", Ints{3, 15}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_ops", Ints{-1, 14}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_ops", Ints{}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_magnitudes", Ints{10, -1}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_magnitudes", Ints{9, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code("policy_probabilities", std::vector<double>{1, 1.5}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
