#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

Node TimmCrop(Args more = {}) {
  Args args{{"size", std::int64_t{4}},
            {"log_ratio", std::vector<double>{std::log(3.0 / 4.0), std::log(4.0 / 3.0)}},
            {"interpolation", std::string("random")},
            {"generator", std::string("python")}};
  for (auto& [name, value] : more) args[name] = value;
  return MakeNode("timm_random_resized_crop", args);
}

TEST(TimmRandomResizedCrop, CropsLieInTheImageAndBothWaysAreDrawn) {
  int bicubic = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Generators rng(seed, true);
    const auto params = DrawNode(TimmCrop(), RgbSpec(30, 20), rng);
    ASSERT_TRUE(params.ok()) << params.status().ToString();
    EXPECT_GE((*params)[0], 0);
    EXPECT_LE((*params)[0] + (*params)[2], 30);
    EXPECT_LE((*params)[1] + (*params)[3], 20);
    bicubic += (*params)[4];
    EXPECT_EQ(rng.torch.draws(), 0U);
  }
  EXPECT_TRUE(bicubic > 0 && bicubic < 50);
}

TEST(TimmRandomResizedCrop, FallsBackToTheMiddleAfterTenAttempts) {
  const Node node = TimmCrop(
      {{"scale", std::vector<double>{5.0, 6.0}}, {"interpolation", std::string("bicubic")}});
  Generators rng(3, true);
  const auto params = DrawNode(node, RgbSpec(10, 40), rng);
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  // Width 40 is more than 4/3 of the height: 10 x round(13.33), from column (40 - 13) / 2.
  EXPECT_EQ(*params, (std::vector<std::int32_t>{0, 13, 10, 13, 0}));
  EXPECT_EQ(rng.python->draws(), 40U);  // two numbers of two outputs each, ten times
}

TEST(TimmRandomResizedCrop, ACropWithoutPixelsIsTheTrainers) {
  const Node node = TimmCrop({{"scale", std::vector<double>{0.0, 0.0}}});
  Generators rng(3, true);
  EXPECT_EQ(DrawNode(node, RgbSpec(10, 40), rng).status().code(), Code::kUnsupported);
}

TEST(TimmRandomResizedCrop, WrongParamsAreRefused) {
  const std::vector<Node> nodes{TimmCrop()};
  const std::vector<std::uint8_t> pixels(6 * 6);
  for (const std::vector<std::int32_t>& params : {std::vector<std::int32_t>{3, 0, 4, 4, 0},
                                                  {0, -1, 4, 4, 0},
                                                  {0, 0, 0, 4, 0},
                                                  {0, 0, 4, 4, 2},
                                                  {0, 0, 4, 4, -1}}) {
    EXPECT_EQ(RunPixels(nodes, GraySpec(6, 6), pixels, params).status.code(),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(RunPixels(nodes, GraySpec(6, 6), pixels, {2, 2, 4, 4, 1}).status.ok());
}

TEST(TimmRandomResizedCrop, OnlyImagesAndKnownArguments) {
  const auto code = [](const std::vector<Node>& nodes) {
    return CompileRgb(nodes).status().code();
  };
  EXPECT_EQ(code({MakeNode("to_tensor"), TimmCrop()}), Code::kUnsupported);
  EXPECT_EQ(code({TimmCrop({{"generator", std::string("torch")}})}), Code::kUnsupported);
  EXPECT_EQ(code({TimmCrop({{"scale", std::vector<double>{-1.0, 1.0}}})}), Code::kUnsupported);
  EXPECT_EQ(code({TimmCrop({{"scale", 1.0}})}), Code::kInvalidArgument);
  EXPECT_EQ(code({TimmCrop({{"log_ratio", std::vector<double>{0.0, 16.0}}})}), Code::kUnsupported);
  EXPECT_EQ(code({TimmCrop({{"ratio", std::vector<double>{0.0, 1.0}}})}), Code::kInvalidArgument);
  EXPECT_EQ(code({TimmCrop({{"interpolation", std::string("cubic")}})}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
