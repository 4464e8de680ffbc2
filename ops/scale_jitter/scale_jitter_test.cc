#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

Node Jitter(std::vector<std::int64_t> target, std::vector<double> scale) {
  return MakeNode("scale_jitter", {{"target_size", target}, {"scale_range", scale}});
}
const Node kSquareCrop = MakeNode("center_crop", {{"size", std::int64_t{2}}});

TEST(ScaleJitter, FitsIntoTheTargetTimesTheScale) {
  TorchGenerator rng(3), stock(3);
  std::int32_t least = 1 << 20, most = 0;
  for (int i = 0; i < 200; ++i) {
    const auto drawn = DrawNodes({Jitter({60, 40}, {0.5, 2.0}), kSquareCrop}, RgbSpec(20, 30), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    const float ratio = 2.0F * (0.5F + stock.Rand() * 1.5F);
    EXPECT_EQ((*drawn)[0], static_cast<std::int32_t>(20.0F * ratio));
    EXPECT_EQ((*drawn)[1], static_cast<std::int32_t>(30.0F * ratio));
    least = std::min(least, (*drawn)[0]);
    most = std::max(most, (*drawn)[0]);
  }
  EXPECT_LT(least, 24);
  EXPECT_GT(most, 74);
  EXPECT_EQ(rng.draws(), 200U);
}

TEST(ScaleJitter, ParamsThatAreNeverDrawnAreRefused) {
  const Pixels pixels(12);
  const std::vector<Node> nodes{Jitter({8, 6}, {0.5, 1.0}), kSquareCrop};
  EXPECT_TRUE(RunPixels(nodes, GraySpec(3, 4), pixels, {6, 8}).status.ok());
  EXPECT_TRUE(RunPixels(nodes, GraySpec(3, 4), pixels, {3, 4}).status.ok());
  for (const std::int32_t height : {2, 7, 0, -1, 1 << 30}) {
    EXPECT_EQ(RunPixels(nodes, GraySpec(3, 4), pixels, {height, 6}).status.code(),
              Code::kInvalidArgument);
  }
}

TEST(ScaleJitter, AnImageWithoutPixelsIsTheProgramsError) {
  TorchGenerator rng(1);
  const auto drawn = DrawNodes({Jitter({1, 1}, {0.01, 0.02}), kSquareCrop}, RgbSpec(20, 30), rng);
  EXPECT_EQ(drawn.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CompileRgb({Jitter({8, 8}, {2.0, 1.0}), kSquareCrop}).status().code(),
            Code::kUnsupported);
  EXPECT_EQ(CompileRgb({Jitter({8, 8}, {1.0}), kSquareCrop}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
