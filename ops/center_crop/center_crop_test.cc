#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Ran Cropped(std::int64_t side, std::int64_t width) {
  std::vector<std::uint8_t> row;
  for (std::int64_t x = 0; x < width; ++x) row.push_back(static_cast<std::uint8_t>(x + 1));
  return RunPixels({MakeNode("center_crop", {{"size", std::vector<std::int64_t>{1, side}}})},
                   GraySpec(1, width), row);
}

TEST(CenterCrop, HalfPixelsRoundToEven) {
  EXPECT_THAT(Cropped(2, 3).values, ElementsAre(1, 2));     // 0.5 to 0
  EXPECT_THAT(Cropped(2, 5).values, ElementsAre(3, 4));     // 1.5 to 2
  EXPECT_THAT(Cropped(3, 8).values, ElementsAre(3, 4, 5));  // 2.5 to 2
}

TEST(CenterCrop, SmallImagesGetZerosAndTheLargerHalfBehind) {
  EXPECT_THAT(Cropped(4, 1).values, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Cropped(5, 2).values, ElementsAre(0, 1, 2, 0, 0));
}

}  // namespace
}  // namespace headrace::ops::testing
