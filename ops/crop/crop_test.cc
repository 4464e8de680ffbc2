#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node At(std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  return MakeNode(
      "crop", {{"top", top}, {"left", left}, {"size", std::vector<std::int64_t>{height, width}}});
}

Ran Cropped(const std::vector<Node>& nodes) {
  return RunPixels(nodes, GraySpec(2, 3), {1, 2, 3, 4, 5, 6});
}

TEST(Crop, TakesAWindow) { EXPECT_THAT(Cropped({At(0, 1, 2, 2)}).values, ElementsAre(2, 3, 5, 6)); }

TEST(Crop, ZerosOutsideOfTheImage) {
  EXPECT_THAT(Cropped({At(-1, 2, 2, 2)}).values, ElementsAre(0, 0, 3, 0));
  EXPECT_THAT(Cropped({At(7, -9, 1, 2)}).values, ElementsAre(0, 0));
}

TEST(Crop, OfACropIsInItsCoordinates) {
  EXPECT_THAT(Cropped({At(0, 1, 2, 2), At(1, 0, 1, 1)}).values, ElementsAre(5));
}

TEST(Crop, RefusesPlacesThatOverflow) {
  EXPECT_EQ(CompileRgb({At(std::int64_t{1} << 62, 0, 1, 1)}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CompileRgb({At(0, 0, 0, 1)}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
