#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/augment/augment_space.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Trivial(std::int64_t api = 1) {
  Args args = AugmentArgs(3);
  args["num_magnitude_bins"] = std::int64_t{3};
  args["translate"] = std::vector<std::int64_t>{0, 1, 2};
  args["fill"] = 7.9;
  args["api"] = api;
  return MakeNode("trivial_augment_wide", args);
}

std::vector<std::int32_t> Step(AugmentOp op, std::int32_t level) {
  return {static_cast<std::int32_t>(op), level};
}

TEST(TrivialAugmentWide, DrawsWhatTheOperationNeeds) {
  for (const std::int64_t api : {1, 2}) {
    std::vector<int> seen(kAugmentOps);
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      TorchGenerator rng(seed);
      const auto params = DrawNode(Trivial(api), RgbSpec(2, 2), rng);
      ASSERT_TRUE(params.ok());
      const auto op = static_cast<AugmentOp>((*params)[0]);
      ++seen[static_cast<std::size_t>((*params)[0])];
      EXPECT_EQ(rng.draws(), 1U + (HasMagnitude(op) ? 1U : 0U) + (IsSigned(op) ? 1U : 0U));
      EXPECT_LT((*params)[1], 3);
      EXPECT_GE((*params)[1], IsSigned(op) ? -3 : 0);
    }
    EXPECT_EQ(seen[static_cast<std::size_t>(AugmentOp::kInvert)], 0);
    for (std::size_t op = 0; op < kRandomAugmentOps; ++op) EXPECT_GT(seen[op], 5) << op;
  }
}

TEST(TrivialAugmentWide, EachOperationTakesItsOwnMagnitude) {
  const TensorSpec spec = GraySpec(1, 4);
  const std::vector<std::uint8_t> pixels{40, 80, 120, 160};
  const auto run = [&](AugmentOp op, std::int32_t level) {
    return RunPixels({Trivial()}, spec, pixels, Step(op, level)).values;
  };
  EXPECT_THAT(run(AugmentOp::kIdentity, 0), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kTranslateX, 1), ElementsAre(7, 40, 80, 120));
  EXPECT_THAT(run(AugmentOp::kTranslateX, -3), ElementsAre(120, 160, 7, 7));
  EXPECT_THAT(run(AugmentOp::kTranslateY, 1), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(run(AugmentOp::kBrightness, 2), ElementsAre(50, 100, 150, 200));
  EXPECT_THAT(run(AugmentOp::kBrightness, -3), ElementsAre(30, 60, 90, 120));
  EXPECT_THAT(run(AugmentOp::kContrast, 2), ElementsAre(25, 75, 125, 175));
  EXPECT_THAT(run(AugmentOp::kColor, 2), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kSharpness, 2), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kPosterize, 2), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kSolarize, 2), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kAutoContrast, 0), ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(run(AugmentOp::kEqualize, 0), ElementsAre(40, 80, 120, 160));
  EXPECT_THAT(run(AugmentOp::kInvert, 0), ElementsAre(215, 175, 135, 95));
  EXPECT_THAT(run(AugmentOp::kShearX, 2), ElementsAre(40, 80, 120, 160));
  // At level 2 the matrix has 0.25: columns 2 and 3 leave the only row.
  EXPECT_THAT(run(AugmentOp::kShearY, 2), ElementsAre(40, 80, 7, 7));
}

TEST(TrivialAugmentWide, QuarterTurnOfASquare) {
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4};
  const auto run = [&](std::int32_t level) {
    return RunPixels({Trivial()}, GraySpec(2, 2), pixels, Step(AugmentOp::kRotate, level)).values;
  };
  EXPECT_THAT(run(0), ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(run(-1), ElementsAre(2, 4, 1, 3));
}

TEST(TrivialAugmentWide, WordsThatCannotBeDrawnAreRefused) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  for (const std::vector<std::int32_t>& params : {std::vector<std::int32_t>{15, 0},
                                                  {-1, 0},
                                                  {kLeast, 0},
                                                  {1, 3},
                                                  {1, -4},
                                                  {1, kMost},
                                                  {1, kLeast}}) {
    EXPECT_EQ(RunPixels({Trivial()}, GraySpec(1, 1), {1}, params).status.code(),
              Code::kInvalidArgument);
  }
}

TEST(TrivialAugmentWide, MagnitudesThatNoTransformHasAreRefused) {
  const auto code = [](const std::string& name, const ArgValue& value) {
    Node node = Trivial();
    node.args[name] = value;
    return RunPixels({node}, RgbSpec(1, 1), {1, 2, 3}).status.code();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code("shear_x", std::vector<double>{0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code("shear_y", std::vector<double>{0, 0, nan}), Code::kInvalidArgument);
  EXPECT_EQ(code("rotate", std::vector<double>(12, 1.5)), Code::kInvalidArgument);
  EXPECT_EQ(code("translate", std::vector<std::int64_t>{0, 1, -1}), Code::kInvalidArgument);
  EXPECT_EQ(code("posterize", std::vector<std::int64_t>{0, 1, 2}), Code::kInvalidArgument);
  EXPECT_EQ(code("num_magnitude_bins", std::int64_t{1}), Code::kUnsupported);
  EXPECT_EQ(code("num_magnitude_bins", std::numeric_limits<std::int64_t>::max()),
            Code::kUnsupported);
  EXPECT_EQ(code("interpolation", std::string("lanczos")), Code::kUnsupported);
  EXPECT_EQ(code("fill", std::vector<double>{1, 2}), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
