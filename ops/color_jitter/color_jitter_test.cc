#include <bit>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::int32_t kInOrder = 0 | 1 << 2 | 2 << 4 | 3 << 6;

std::vector<std::int32_t> Params(std::int32_t order, float brightness, float contrast,
                                 float saturation, float hue) {
  std::vector<std::int32_t> params{order};
  for (const float f : {brightness, contrast, saturation, hue}) {
    params.push_back(std::bit_cast<std::int32_t>(f));
  }
  return params;
}

TEST(ColorJitter, DrawsAnOrderAndAFactorForEachStepThatIsOn) {
  TorchGenerator rng(1);
  const Args two{{"brightness", 0.5}, {"hue", std::vector<double>{-0.1, 0.2}}, {"contrast", 0.0}};
  const auto params = DrawNode(MakeNode("color_jitter", two), RgbSpec(2, 2), rng);
  ASSERT_TRUE(params.ok());
  EXPECT_EQ(rng.draws(), 3U + 2U);  // contrast 0 is off
  const float brightness = std::bit_cast<float>((*params)[1]);
  EXPECT_GE(brightness, 0.5F);
  EXPECT_LT(brightness, 1.5F);
  EXPECT_EQ((*params)[2], 0);
}

TEST(ColorJitter, StepsAreMadeInTheDrawnOrder) {
  const std::vector<Node> nodes{MakeNode("color_jitter", {{"brightness", 1.0}, {"contrast", 1.0}})};
  const std::vector<std::uint8_t> pixels{40, 80};
  // Brightness 2, then contrast 0: the mean of 80 and 160. In the other order: 2 * 60.
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), pixels, Params(kInOrder, 2, 0, 0, 0)).values,
              ElementsAre(120, 120));
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {41, 80}, Params(kInOrder, 2, 0, 0, 0)).values,
              ElementsAre(121, 121));
  const std::int32_t contrast_first = 1 | 0 << 2 | 2 << 4 | 3 << 6;
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {41, 80}, Params(contrast_first, 2, 0, 0, 0)).values,
              ElementsAre(122, 122));
}

TEST(ColorJitter, HueTurnsColoursAndLeavesGray) {
  const std::vector<Node> nodes{MakeNode("color_jitter", {{"hue", 0.5}})};
  EXPECT_THAT(RunPixels(nodes, RgbSpec(1, 2), {255, 0, 0, 90, 90, 90},
                        Params(kInOrder, 0, 0, 0, 1.0F / 3.0F))
                  .values,
              ElementsAre(0, 255, 0, 90, 90, 90));
}

TEST(ColorJitter, FactorsThatCannotBeDrawnAreRefused) {
  const std::vector<Node> nodes{MakeNode("color_jitter", {{"hue", 0.5}, {"brightness", 0.5}})};
  EXPECT_EQ(RunPixels(nodes, GraySpec(1, 1), {1}, Params(kInOrder, 1, 1, 1, 0.6F)).status.code(),
            Code::kInvalidArgument);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(RunPixels(nodes, GraySpec(1, 1), {1}, Params(kInOrder, nan, 1, 1, 0)).status.code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
