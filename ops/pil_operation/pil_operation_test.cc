#include <limits>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node By(const std::string& operation, std::optional<double> factor = std::nullopt) {
  Args args{{"operation", operation}};
  if (factor) args["factor"] = *factor;
  return MakeNode("pil_operation", args);
}

TEST(PilOperation, TakesItsFactor) {
  EXPECT_THAT(RunPixels({By("brightness", 0.5)}, GraySpec(1, 2), {10, 201}).values,
              ElementsAre(5, 100));
  EXPECT_THAT(RunPixels({By("contrast", 0)}, GraySpec(1, 2), {10, 20}).values, ElementsAre(15, 15));
  EXPECT_THAT(RunPixels({By("color", 0)}, RgbSpec(1, 1), {255, 0, 0}).values,
              ElementsAre(76, 76, 76));
  EXPECT_THAT(RunPixels({By("sharpness", 1)}, GraySpec(1, 2), {10, 20}).values,
              ElementsAre(10, 20));
}

TEST(PilOperation, HistogramsAndMeansAreOfTheWholeImageInFrontOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::vector<std::int64_t>{1, 2}}});
  EXPECT_THAT(RunPixels({By("autocontrast"), crop}, GraySpec(1, 4), {0, 50, 51, 102}).values,
              ElementsAre(125, 127));
  EXPECT_THAT(RunPixels({By("contrast", 0), crop}, GraySpec(1, 4), {0, 10, 10, 180}).values,
              ElementsAre(50, 50));
}

TEST(PilOperation, SharpnessSeesNeighboursOutsideOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{1}}});
  EXPECT_THAT(
      RunPixels({By("sharpness", 0), crop}, GraySpec(3, 3), {13, 13, 13, 13, 0, 13, 13, 13, 13})
          .values,
      ElementsAre(8));
}

TEST(PilOperation, ABlurSeesAllOfTheImageInFrontOfACrop) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{1}}});
  EXPECT_THAT(
      RunPixels({By("gaussian_blur", 1), crop}, GraySpec(3, 3), {0, 0, 0, 0, 255, 0, 0, 0, 0})
          .values,
      ElementsAre(44));
}

TEST(PilOperation, ValuesThatDoNotFitAreRefused) {
  const auto code = [](const Node& node) { return CompileRgb({node}).status().code(); };
  EXPECT_EQ(code(By("equalize")), Code::kOk);
  EXPECT_EQ(code(By("equalize", 1)), Code::kInvalidArgument);
  EXPECT_EQ(code(By("color")), Code::kInvalidArgument);
  EXPECT_EQ(code(By("color", 1e7)), Code::kUnsupported);
  EXPECT_EQ(code(By("color", std::numeric_limits<double>::quiet_NaN())), Code::kUnsupported);
  EXPECT_EQ(code(By("posterize", 2)), Code::kUnsupported);
  EXPECT_EQ(code(By("gaussian_blur", 1)), Code::kOk);
  EXPECT_EQ(code(By("gaussian_blur", 0)), Code::kUnsupported);
  EXPECT_EQ(code(By("gaussian_blur", -1)), Code::kUnsupported);
  EXPECT_EQ(code(By("gaussian_blur", 1001)), Code::kUnsupported);
  EXPECT_EQ(code(By("gaussian_blur")), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
