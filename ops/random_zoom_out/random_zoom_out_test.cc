#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node ZoomOut(double p, std::vector<double> range = {1.0, 4.0}) {
  return MakeNode("random_zoom_out", {{"p", p}, {"side_range", range}, {"fill", std::int64_t{9}}});
}
const Node kZoomCrop = MakeNode("center_crop", {{"size", std::vector<std::int64_t>{2, 4}}});

TEST(RandomZoomOut, DrawsACanvasAndAPlaceOnIt) {
  TorchGenerator rng(3), stock(3);
  int zoomed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto drawn = DrawNodes({ZoomOut(0.5), kZoomCrop}, RgbSpec(20, 30), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    std::vector<std::int32_t> expected(5);
    if (stock.Rand() < 0.5F) {
      const float side = 1.0F + stock.Rand() * 3.0F;
      const int width = static_cast<int>(30.0F * side), height = static_cast<int>(20.0F * side);
      const float across = stock.Rand(), down = stock.Rand();
      expected[0] = static_cast<int>(static_cast<float>(width - 30) * across);
      expected[1] = static_cast<int>(static_cast<float>(height - 20) * down);
      expected[2] = width - expected[0] - 30;
      expected[3] = height - expected[1] - 20;
      expected[4] = 1;
      ++zoomed;
    }
    EXPECT_EQ(*drawn, expected);
  }
  EXPECT_EQ(rng.draws(), stock.draws());
  EXPECT_GT(zoomed, 60);
  EXPECT_LT(zoomed, 140);
}

TEST(RandomZoomOut, TheImageLiesWhereItWasDrawn) {
  const Pixels pixels{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(RunPixels({ZoomOut(1.0), kZoomCrop}, GraySpec(2, 4), pixels, {2, 0, 0, 2, 1}).values,
              ElementsAre(9, 5, 6, 7, 9, 9, 9, 9));
  EXPECT_THAT(RunPixels({ZoomOut(1.0), kZoomCrop}, GraySpec(2, 4), pixels, {0, 0, 0, 0, 0}).values,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(RandomZoomOut, ParamsThatAreNeverDrawnAreRefused) {
  const Pixels pixels(8);
  using Words = std::vector<std::int32_t>;
  for (const Words& words :
       {Words{-1, 0, 0, 0, 1}, Words{20, 0, 0, 0, 1}, Words{1 << 30, 0, 0, 0, 1},
        Words{1, 0, 0, 0, 0}, Words{1, 0, 0, 0, 2}, Words{0, 0, 0, 0, -1}}) {
    const auto ran = RunPixels({ZoomOut(1.0), kZoomCrop}, GraySpec(2, 4), pixels, words);
    EXPECT_EQ(ran.status.code(), Code::kInvalidArgument) << words[0] << " " << words[4];
  }
}

TEST(RandomZoomOut, ARangeThatIsNoneIsNotNative) {
  const std::vector<std::vector<double>> ranges{{0.5, 2.0}, {3.0, 2.0}, {2.0}, {1.0, 1e9}};
  for (const std::vector<double>& range : ranges) {
    EXPECT_EQ(CompileRgb({ZoomOut(1.0, range), kZoomCrop}).status().code(), Code::kUnsupported);
  }
}

}  // namespace
}  // namespace headrace::ops::testing
