#include "ops/gaussian_blur/gaussian_blur.h"

#include <bit>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<double>;

Node Blur(Numbers x, Numbers y) {
  return MakeNode("gaussian_blur",
                  {{"positions_x", x}, {"positions_y", y}, {"known_sums", std::int64_t{1}}});
}

std::vector<std::int32_t> Words(const std::vector<float>& weights) {
  std::vector<std::int32_t> words;
  for (const float weight : weights) words.push_back(std::bit_cast<std::int32_t>(weight));
  return words;
}

TEST(GaussianBlur, ReflectsTheBorderAndRoundsHalfToEven) {
  const Node node = Blur({-1, 0, 1}, {0});
  // 1/4, 1/2, 1/4 of 4 0 4, 0 4 9 and 4 9 4.
  EXPECT_THAT(
      RunPixels({node}, RgbSpec(1, 3), {0, 9, 0, 4, 9, 0, 9, 9, 0}, Words({0.25F, 0.5F, 0.25F, 1}))
          .values,
      ElementsAre(2, 9, 0, 4, 9, 0, 6, 9, 0));
}

TEST(GaussianBlur, DrawsOneNumberAndComputesTheWeights) {
  const EvenTorch torch;
  TorchGenerator rng(1);
  const auto drawn = DrawNode(Blur({-1, 0, 1}, {0}), RgbSpec(9, 9), rng, &torch);
  ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
  EXPECT_EQ(rng.draws(), 1U);
  constexpr float kThird = 1.0F / 3.0F;
  EXPECT_EQ(*drawn, Words({kThird, kThird, kThird, 1}));
}

TEST(GaussianBlur, DrawsNothingWithoutTorch) {
  TorchGenerator rng(1);
  const auto drawn = DrawNode(Blur({-1, 0, 1}, {0}), RgbSpec(9, 9), rng);
  EXPECT_EQ(drawn.status().code(), Code::kUnsupported);
  EXPECT_EQ(rng.draws(), 0U);
}

TEST(GaussianBlur, LeavesImagesToTheTrainerWhoseBorderOrOrderOfSumsIsAnother) {
  const Node three = Blur({-1, 0, 1}, {-1, 0, 1});
  EXPECT_EQ(ShapeOf(three, RgbSpec(2, 2)), std::make_pair(std::int64_t{2}, std::int64_t{2}));
  EXPECT_EQ(ShapeOf(three, RgbSpec(1, 2)).first, 0);       // torch raises
  EXPECT_EQ(ShapeOf(three, GraySpec(126, 158)).first, 0);  // 128 x 160 = 20480
  EXPECT_EQ(ShapeOf(three, GraySpec(127, 158)).first, 127);
  EXPECT_EQ(ShapeOf(Blur({-2, -1, 0, 1, 2}, {-2, -1, 0, 1, 2}), GraySpec(8, 8)).first, 8);
  EXPECT_EQ(ShapeOf(Blur({0}, {0}), GraySpec(8, 8)).first, 8);
}

TEST(GaussianBlur, NeedsAKnownOrderOfSums) {
  Node node = Blur({-1, 0, 1}, {0});
  node.args["known_sums"] = std::int64_t{0};
  const auto ran = RunPixels({node}, RgbSpec(1, 1), {0, 0, 0}, Words({0, 1, 0, 1}));
  EXPECT_EQ(ran.status.code(), Code::kUnsupported);
}

TEST(GaussianBlur, RefusesWeightsThatAreNone) {
  const Node node = Blur({-1, 0, 1}, {0});
  for (const float bad : {-0.5F, 1.01F, std::numeric_limits<float>::quiet_NaN()}) {
    const auto ran = RunPixels({node}, RgbSpec(1, 2), {1, 1, 1, 1, 1, 1}, Words({0, bad, 0, 1}));
    EXPECT_EQ(ran.status.code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace headrace::ops::testing
