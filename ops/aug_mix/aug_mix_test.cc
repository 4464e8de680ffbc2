#include <bit>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/augment/augment_test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Mix(std::int64_t width = 1, std::int64_t depth = 1, std::int64_t api = 1) {
  Args args = AugmentArgs(3);
  args.erase("rotate");
  args["mixture_width"] = width;
  args["chain_depth"] = depth;
  args["api"] = api;
  return MakeNode("aug_mix", args);
}

std::int32_t Float(float value) { return std::bit_cast<std::int32_t>(value); }

TEST(AugMix, AddsUpInFloatAndCutsOnce) {
  const auto mixed =
      RunPixels({Mix()}, GraySpec(1, 3), {9, 99, 255}, {Float(0.5F), Float(0.5F), kPosterize, 2});
  // Posterize keeps 6 bits: 8, 96, 252.
  EXPECT_THAT(mixed.values, ElementsAre(8, 97, 253));
}

TEST(AugMix, BranchesStartFromTheOriginal) {
  // The last bin, 9, is 27 / 3 of 27 pixels: bin 2 is 2 pixels.
  std::vector<std::uint8_t> row(27, 100);
  const auto mixed = RunPixels({Mix(2)}, GraySpec(1, 27), row,
                               {0, Float(0.5F), kTranslateX, 2, Float(0.5F), kIdentity, 0});
  EXPECT_EQ(mixed.values[0], 50);
  EXPECT_EQ(mixed.values[1], 50);
  EXPECT_EQ(mixed.values[2], 100);
}

TEST(AugMix, DepthIsDrawnAndTheRestIsTheIdentity) {
  int shallow = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TorchGenerator rng(seed);
    const auto params = DrawNode(Mix(2, -1, 2), RgbSpec(2, 2), rng);
    ASSERT_TRUE(params.ok());
    ASSERT_EQ(params->size(), 1U + 2 * 7);
    float sum = std::bit_cast<float>((*params)[0]);
    for (const std::size_t branch : {1U, 8U}) {
      sum += std::bit_cast<float>((*params)[branch]);
      EXPECT_NE((*params)[branch + 1], kIdentity);
      shallow += (*params)[branch + 5] == kIdentity;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_GT(shallow, 30);
  EXPECT_LT(shallow, 95);
}

TEST(AugMix, ANormalNumberIsKeptForTheNextSample) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TorchGenerator rng(seed);
    ASSERT_TRUE(DrawNode(Mix(3, -1), RgbSpec(2, 2), rng).ok());
    kept += rng.position() != rng.draws();
  }
  EXPECT_GT(kept, 0);
}

TEST(AugMix, WhatCannotBeEqualIsRefused) {
  const auto code = [](const std::string& name, const ArgValue& value) {
    Node node = Mix();
    node.args[name] = value;
    return RunPixels({node}, RgbSpec(1, 1), {1, 2, 3}, {0, 0, 0, 0}).status.code();
  };
  EXPECT_EQ(code("severity", std::int64_t{3}), Code::kOk);
  EXPECT_EQ(code("severity", std::int64_t{11}), Code::kInvalidArgument);
  EXPECT_EQ(code("mixture_width", std::int64_t{17}), Code::kUnsupported);
  EXPECT_EQ(code("chain_depth", std::int64_t{101}), Code::kUnsupported);
  EXPECT_EQ(code("alpha", 0.0), Code::kUnsupported);
  EXPECT_EQ(code("interpolation", std::string("bicubic")), Code::kUnsupported);
  EXPECT_EQ(code("tensor_grids", std::int64_t{0}), Code::kUnsupported);
  EXPECT_EQ(code("tensor_grids", std::int64_t{1}), Code::kOk);
  EXPECT_EQ(code("tensor_grids", std::int64_t{2}), Code::kOk);
  EXPECT_EQ(code("tensor_grids", std::int64_t{3}), Code::kInvalidArgument);

  TorchGenerator rng(1);
  EXPECT_EQ(DrawNode(Mix(), RgbSpec(1, 4097), rng).status().code(), Code::kUnsupported);
  EXPECT_EQ(DrawNode(Mix(), RgbSpec(1451, 1452), rng).status().code(), Code::kUnsupported);
  EXPECT_TRUE(DrawNode(Mix(), RgbSpec(1450, 1451), rng).ok());
}

TEST(AugMix, ParametersOfNoDrawAreRefused) {
  const auto code = [](const std::vector<std::int32_t>& params) {
    return RunPixels({Mix()}, GraySpec(1, 1), {1}, params).status.code();
  };
  EXPECT_EQ(code({Float(0.5F), Float(0.5F), 0, 0}), Code::kOk);
  EXPECT_EQ(code({Float(1.5F), Float(0.5F), 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({Float(0.5F), Float(-0.5F), 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({Float(0.5F), 0x7fc00000, 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({Float(0.5F), Float(0.5F), 99, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({Float(0.5F), Float(0.5F), kTranslateX, 3}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
