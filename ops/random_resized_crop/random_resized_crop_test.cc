#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

const Args kSize{{"size", std::int64_t{4}}};

TEST(RandomResizedCrop, CropsLieInTheImage) {
  TorchGenerator rng(3);
  for (int i = 0; i < 50; ++i) {
    const auto params = DrawNode(MakeNode("random_resized_crop", kSize), RgbSpec(30, 20), rng);
    ASSERT_TRUE(params.ok());
    EXPECT_GE((*params)[0], 0);
    EXPECT_LE((*params)[0] + (*params)[2], 30);
    EXPECT_LE((*params)[1] + (*params)[3], 20);
  }
}

TEST(RandomResizedCrop, FallsBackToTheMiddleAfterTenAttempts) {
  TorchGenerator rng(3);
  Args args = kSize;
  args["scale"] = std::vector<double>{5.0, 6.0};  // more than the image: every attempt fails
  const auto params = DrawNode(MakeNode("random_resized_crop", args), RgbSpec(10, 40), rng);
  ASSERT_TRUE(params.ok());
  // Width 40 is more than 4/3 of the height: 10 x round(13.33), from column (40 - 13) / 2.
  EXPECT_EQ(*params, (std::vector<std::int32_t>{0, 13, 10, 13}));
  EXPECT_EQ(rng.draws(), 20U);
}

TEST(RandomResizedCrop, CropOutOfTheImageIsRefused) {
  const std::vector<Node> nodes{MakeNode("random_resized_crop", kSize)};
  const std::vector<std::uint8_t> pixels(6 * 6);
  for (const std::vector<std::int32_t>& params :
       {std::vector<std::int32_t>{3, 0, 4, 4}, {0, -1, 4, 4}, {0, 0, 0, 4}, {0, 0, 4, 7}}) {
    EXPECT_EQ(RunPixels(nodes, GraySpec(6, 6), pixels, params).status.code(),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(RunPixels(nodes, GraySpec(6, 6), pixels, {2, 2, 4, 4}).status.ok());
}

TEST(RandomResizedCrop, CropOfTheOutputsSizeIsOnlyCropped) {
  const Args two{{"size", std::int64_t{2}}};
  EXPECT_THAT(RunPixels({MakeNode("random_resized_crop", two)}, GraySpec(3, 3),
                        {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 2, 2})
                  .values,
              ElementsAre(5, 6, 8, 9));
}

}  // namespace
}  // namespace headrace::ops::testing
