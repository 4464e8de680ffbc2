#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node By(std::vector<double> matrix, const std::string& interpolation, Args more = {}) {
  more["matrix"] = std::move(matrix);
  more["interpolation"] = interpolation;
  return MakeNode("affine", more);
}

TEST(Affine, MovesAndFills) {
  const Node node = By({1, 0, 1, 0, 1, 0}, "nearest", {{"fill", 7.0}});
  EXPECT_THAT(RunPixels({node}, GraySpec(1, 3), {10, 20, 30}).values, ElementsAre(20, 30, 7));
  const Node colors =
      By({1, 0, 9, 0, 1, 0}, "bicubic", {{"fill", std::vector<double>{124, 116, 104}}});
  EXPECT_THAT(RunPixels({colors}, RgbSpec(1, 1), {1, 2, 3}).values, ElementsAre(124, 116, 104));
}

// Half a pixel to the left, with whole coordinates in the other direction.
TEST(Affine, InterpolatesAlongOneAxis) {
  const std::vector<std::uint8_t> line = {0, 100, 100, 0};
  for (const bool wide : {true, false}) {
    const TensorSpec spec = wide ? GraySpec(1, 4) : GraySpec(4, 1);
    const std::vector<double> matrix =
        wide ? std::vector<double>{1, 0, 0.5, 0, 1, 0} : std::vector<double>{1, 0, 0, 0, 1, 0.5};
    EXPECT_THAT(RunPixels({By(matrix, "bilinear")}, spec, line).values,
                ElementsAre(50, 100, 50, 0));
    EXPECT_THAT(RunPixels({By(matrix, "bicubic")}, spec, line).values, ElementsAre(50, 125, 50, 0));
  }
}

TEST(Affine, ReadsTheWholeImageInFrontOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{1}}});
  EXPECT_THAT(
      RunPixels({By({1, 0, 1, 0, 1, 0}, "nearest"), crop}, GraySpec(1, 3), {10, 20, 30}).values,
      ElementsAre(30));
}

TEST(Affine, RefusesWhatHasNoNativeForm) {
  const auto code = [](const Node& node) { return CompileRgb({node}).status().code(); };
  EXPECT_EQ(code(By({1, 0, 0, 0, 1, 0}, "bicubic")), Code::kOk);
  EXPECT_EQ(code(By({1, 0, 0, 0, 1}, "bicubic")), Code::kInvalidArgument);
  EXPECT_EQ(code(By({1, 0, 0, 0, 1, 0}, "lanczos")), Code::kUnsupported);
  EXPECT_EQ(code(By({1, 0, 1e7, 0, 1, 0}, "nearest")), Code::kUnsupported);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(By({1, 0, nan, 0, 1, 0}, "nearest")), Code::kUnsupported);
  EXPECT_EQ(code(By({1, 0, 0, 0, 1, 0}, "nearest", {{"fill", std::vector<double>{1, 2}}})),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
