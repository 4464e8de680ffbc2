#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Part(std::int64_t part, std::int64_t height, std::int64_t width) {
  return MakeNode("five_crop",
                  {{"size", std::vector<std::int64_t>{height, width}}, {"part", part}});
}

Ran Cropped(std::int64_t part) {
  return RunPixels({Part(part, 1, 2)}, GraySpec(3, 4), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST(FiveCrop, PartsAreInTheOrderOfTheTuple) {
  EXPECT_THAT(Cropped(0).values, ElementsAre(1, 2));
  EXPECT_THAT(Cropped(1).values, ElementsAre(3, 4));
  EXPECT_THAT(Cropped(2).values, ElementsAre(9, 10));
  EXPECT_THAT(Cropped(3).values, ElementsAre(11, 12));
  EXPECT_THAT(Cropped(4).values, ElementsAre(6, 7));
}

TEST(FiveCrop, HalfPixelsOfTheMiddleRoundToEven) {
  EXPECT_THAT(RunPixels({Part(4, 1, 2)}, GraySpec(1, 3), {1, 2, 3}).values, ElementsAre(1, 2));
  EXPECT_THAT(RunPixels({Part(4, 1, 2)}, GraySpec(1, 5), {1, 2, 3, 4, 5}).values,
              ElementsAre(3, 4));
}

TEST(FiveCrop, RefusesImagesThatAreSmallerThanTheCrop) {
  TorchGenerator rng(1);
  EXPECT_TRUE(DrawNode(Part(4, 3, 4), RgbSpec(3, 4), rng).ok());
  EXPECT_THAT(DrawNode(Part(4, 3, 4), RgbSpec(2, 4), rng).status().message(),
              HasSubstr("Requested crop size (3, 4) is bigger than input size (2, 4)"));
  EXPECT_THAT(DrawNode(Part(4, 3, 4), RgbSpec(3, 3), rng).status().message(),
              HasSubstr("Requested crop size (3, 4) is bigger than input size (3, 3)"));
  EXPECT_EQ(rng.draws(), 0U);
}

TEST(FiveCrop, RefusesOtherParts) {
  EXPECT_EQ(CompileRgb({Part(-1, 1, 1)}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CompileRgb({Part(5, 1, 1)}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
