#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Resize(std::int64_t least, std::int64_t end) {
  return MakeNode("random_resize", {{"min_size", least}, {"max_size", end}});
}
const Node kCrop = MakeNode("center_crop", {{"size", std::int64_t{2}}});

TEST(RandomResize, DrawsEachLengthButTheLast) {
  std::set<std::int32_t> seen;
  TorchGenerator rng(1);
  for (int i = 0; i < 200; ++i) {
    const auto drawn = DrawNodes({Resize(3, 7), kCrop}, RgbSpec(20, 30), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    seen.insert((*drawn)[0]);
  }
  EXPECT_THAT(seen, ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(rng.draws(), 200U);
}

TEST(RandomResize, TheShorterEdgeGetsTheLengthThatWasDrawn) {
  // Two columns of a 2 x 4 image that grows to 4 x 8: nearest doubles each pixel.
  Node resize = Resize(1, 9);
  resize.args["interpolation"] = std::string("nearest");
  const Node crop = MakeNode("center_crop", {{"size", std::vector<std::int64_t>{2, 4}}});
  const Pixels pixels{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(RunPixels({resize, crop}, GraySpec(2, 4), pixels, {4}).values,
              ElementsAre(2, 2, 3, 3, 6, 6, 7, 7));
  EXPECT_THAT(RunPixels({resize, crop}, GraySpec(2, 4), pixels, {2}).values,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(RandomResize, ParamsThatAreNeverDrawnAreRefused) {
  const Pixels pixels(12);
  for (const std::int32_t length : {2, 7, -1, 1 << 30}) {
    const Ran ran = RunPixels({Resize(3, 7), kCrop}, GraySpec(3, 4), pixels, {length});
    EXPECT_EQ(ran.status.code(), Code::kInvalidArgument) << length;
  }
  EXPECT_TRUE(RunPixels({Resize(3, 7), kCrop}, GraySpec(3, 4), pixels, {6}).status.ok());
}

// Samples of a batch have one shape, which must be known before the draws.
TEST(RandomResize, IsRefusedWhereTheSampleKeepsTheDrawnSize) {
  for (const Node& after : {MakeNode("to_tensor"), MakeNode("pad", {{"padding", std::int64_t{1}}}),
                            MakeNode("resize", {{"size", std::int64_t{8}}})}) {
    const Status status = CompileRgb({Resize(3, 7), after}).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("depends on what is drawn"));
  }
  EXPECT_TRUE(CompileRgb({Resize(3, 7), Resize(3, 7), kCrop}).ok());
  const Node gate = MakeNode("random_apply", {{"nodes", std::int64_t{1}}});
  EXPECT_EQ(CompileRgb({gate, Resize(3, 7), kCrop}).status().code(), Code::kUnsupported);
}

TEST(RandomResize, BoundsWithoutALengthAreTheProgramsError) {
  EXPECT_EQ(CompileRgb({Resize(5, 5), kCrop}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CompileRgb({Resize(0, 5), kCrop}).status().code(), Code::kInvalidArgument);
}

TEST(RandomResize, PythonsLengthIsRandintsOfBothBounds) {
  Node resize = Resize(3, 6);
  resize.args["generator"] = std::string("python");
  Generators rng(1, true);
  PythonGenerator stock(1);
  std::set<std::int32_t> seen;
  for (int i = 0; i < 100; ++i) {
    const auto drawn = DrawNodes({resize, kCrop}, RgbSpec(20, 30), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    EXPECT_EQ((*drawn)[0], static_cast<std::int32_t>(3 + stock.Below(3)));
    seen.insert((*drawn)[0]);
  }
  EXPECT_THAT(seen, ElementsAre(3, 4, 5));
  EXPECT_EQ(rng.python->draws(), stock.draws());
  EXPECT_EQ(rng.torch.draws(), 0U);
}

}  // namespace
}  // namespace headrace::ops::testing
