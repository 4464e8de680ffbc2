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

Node Rand(std::int64_t num_ops, std::int64_t magnitude = 9) {
  Args args = AugmentArgs(1);
  args["num_ops"] = num_ops;
  args["magnitude"] = magnitude;
  return MakeNode("rand_augment", args);
}

TEST(RandAugment, DrawsASignForSignedOperations) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TorchGenerator rng(seed);
    const auto params = DrawNode(Rand(3), RgbSpec(2, 2), rng);
    ASSERT_TRUE(params.ok());
    ASSERT_EQ(params->size(), 6U);
    std::uint64_t draws = 3;
    for (std::size_t i = 0; i < 6; i += 2) {
      draws += IsSigned(static_cast<AugmentOp>((*params)[i])) ? 1 : 0;
      EXPECT_TRUE((*params)[i + 1] == 0 || (*params)[i + 1] == -1);
    }
    EXPECT_EQ(rng.draws(), draws);
  }
}

TEST(RandAugment, NoOperationsAreNone) {
  TorchGenerator rng(1);
  const auto params = DrawNode(Rand(0), RgbSpec(2, 2), rng);
  ASSERT_TRUE(params.ok());
  EXPECT_TRUE(params->empty());
  EXPECT_THAT(RunPixels({Rand(0)}, GraySpec(1, 2), {3, 4}, {}).values, ElementsAre(3, 4));
}

TEST(RandAugment, OperationsFollowEachOther) {
  // A quarter turn, an inversion, then another turn: two operations that move pixels, and one in
  // place.
  EXPECT_THAT(
      RunPixels({Rand(3)}, GraySpec(2, 2), {1, 2, 3, 4}, {kRotate, 0, kInvert, 0, kRotate, 0})
          .values,
      ElementsAre(251, 252, 253, 254));
  EXPECT_THAT(
      RunPixels({Rand(1), Rand(1)}, GraySpec(2, 2), {1, 2, 3, 4}, {kRotate, 0, kRotate, -1}).values,
      ElementsAre(1, 2, 3, 4));
}

TEST(RandAugment, TranslationsAreAPartOfTheImage) {
  // 150 / 331 of 331 pixels: 45 at bin 9 of 0..30.
  std::vector<std::uint8_t> row(331);
  for (std::size_t x = 0; x < row.size(); ++x) row[x] = static_cast<std::uint8_t>(x % 200 + 1);
  const auto moved_by = [&](const Node& node) {
    const auto values = RunPixels({node}, GraySpec(1, 331), row, {kTranslateX, 0}).values;
    std::size_t count = 0;
    while (count < values.size() && values[count] == 0) ++count;
    return count;
  };
  EXPECT_EQ(moved_by(Rand(1)), 45U);
  EXPECT_EQ(moved_by(Rand(1, 30)), 150U);
  EXPECT_EQ(moved_by(Rand(1, 0)), 0U);
  Node node = Rand(1);
  node.args["translate_exceptions"] = std::vector<std::int64_t>{9, 331, 44, 8, 331, 1, 9, 330, 2};
  EXPECT_EQ(moved_by(node), 44U);
}

TEST(RandAugment, WhatIsNotNativeSaysSo) {
  const auto code = [](const Node& node) {
    return RunPixels({node}, RgbSpec(1, 1), {1, 2, 3}).status.code();
  };
  EXPECT_EQ(code(Rand(-1)), Code::kUnsupported);
  EXPECT_EQ(code(Rand(101)), Code::kUnsupported);
  EXPECT_EQ(code(Rand(2, -1)), Code::kUnsupported);
  EXPECT_EQ(code(Rand(2, 31)), Code::kUnsupported);
  Node node = Rand(1);
  node.args["translate_exceptions"] = std::vector<std::int64_t>{9, 331};
  EXPECT_EQ(code(node), Code::kInvalidArgument);
  node.args["translate_exceptions"] = std::vector<std::int64_t>{9, 331, 40000};
  EXPECT_EQ(code(node), Code::kInvalidArgument);
  TorchGenerator rng(1);
  EXPECT_EQ(DrawNode(Rand(2), RgbSpec(1, 32769), rng).status().code(), Code::kUnsupported);
  EXPECT_EQ(rng.draws(), 0U);
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  for (const std::int32_t level : {1, -2, kLeast}) {
    EXPECT_EQ(RunPixels({Rand(1)}, GraySpec(1, 1), {1}, {kTranslateX, level}).status.code(),
              Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace::ops::testing
