#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Crop(std::int64_t api, Args more = {}) {
  more["size"] = std::vector<std::int64_t>{2, 3};
  more["api"] = api;
  return MakeNode("random_crop", more);
}

TEST(RandomCrop, V1DrawsBothSidesOrNoneV2EachThatHasAChoice) {
  const auto draws = [](std::int64_t api, std::int64_t height, std::int64_t width) {
    TorchGenerator rng(1);
    EXPECT_TRUE(DrawNode(Crop(api), RgbSpec(height, width), rng).ok());
    return rng.draws();
  };
  EXPECT_EQ(draws(1, 2, 3), 0U);
  EXPECT_EQ(draws(2, 2, 3), 0U);
  EXPECT_EQ(draws(1, 2, 9), 2U);
  EXPECT_EQ(draws(2, 2, 9), 1U);
  EXPECT_EQ(draws(1, 9, 9), 2U);
  EXPECT_EQ(draws(2, 9, 9), 2U);
}

TEST(RandomCrop, LargerThanTheImageHasTheFrameworksMessage) {
  TorchGenerator rng(1);
  EXPECT_THAT(DrawNode(Crop(1), RgbSpec(1, 9), rng).status().message(),
              HasSubstr("Required crop size (2, 3) is larger than input image size (1, 9)"));
}

TEST(RandomCrop, PaddingIsFilled) {
  const Args padded{{"padding", std::int64_t{1}}, {"fill", std::int64_t{7}}};
  const Ran ran = RunPixels({Crop(1, padded)}, GraySpec(1, 2), {1, 2}, {0, 0});
  EXPECT_THAT(ran.values, ElementsAre(7, 7, 7, 7, 1, 2));
}

TEST(RandomCrop, PaddingByReflection) {
  const Args padded{{"padding", std::vector<std::int64_t>{2, 0}},
                    {"padding_mode", std::string("reflect")}};
  const Ran ran = RunPixels({Crop(1, padded)}, GraySpec(2, 3), {1, 2, 3, 4, 5, 6}, {0, 0});
  EXPECT_THAT(ran.values, ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(RandomCrop, CropOutOfThePaddedImageIsRefused) {
  EXPECT_EQ(RunPixels({Crop(1)}, GraySpec(2, 3), {1, 2, 3, 4, 5, 6}, {0, 1}).status.code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
