#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node To(const std::string& dtype, std::int64_t scale, std::int64_t api = 2) {
  return MakeNode("to_dtype", {{"dtype", dtype}, {"scale", scale}, {"api", api}});
}

Ran TensorOf3(const Node& node) {
  return RunPixels({MakeNode("to_image"), node}, GraySpec(1, 1), {3});
}

TEST(ToDtype, V1DividesV2Multiplies) {
  // 3 * (1 / 255) and 3 / 255 are different float32 numbers.
  const float product = 3.0F * static_cast<float>(1.0 / 255.0);
  ASSERT_NE(product, 3.0F / 255.0F);
  EXPECT_THAT(TensorOf3(To("float32", 1, 1)).values, ElementsAre(3.0F / 255.0F));
  EXPECT_THAT(TensorOf3(To("float32", 1, 2)).values, ElementsAre(product));
}

TEST(ToDtype, WithoutScaleKeepsTheNumbers) {
  EXPECT_THAT(RunPixels({MakeNode("to_image"), To("float32", 0)}, GraySpec(1, 2), {3, 255}).values,
              ElementsAre(3, 255));
}

TEST(ToDtype, SameTypeIsNoChange) {
  EXPECT_THAT(RunPixels({MakeNode("to_tensor"), To("float32", 1)}, GraySpec(1, 1), {255}).values,
              ElementsAre(1));
}

TEST(ToDtype, HalfIsTheRoundingOfFloat) {
  const Ran ran =
      RunPixels({MakeNode("to_tensor"), To("float16", 0), To("float32", 0)}, GraySpec(1, 1), {3});
  EXPECT_THAT(ran.values, ElementsAre(0x1.818p-7F));  // 3 / 255 in 11 digits
}

TEST(ToDtype, SizesOfTheOtherTypes) {
  EXPECT_EQ(TensorOf3(To("float64", 1)).spec.bytes(), 8U);
  EXPECT_EQ(TensorOf3(To("int16", 1)).spec.bytes(), 2U);
}

TEST(ToDtype, V2LeavesPilImagesAlone) {
  EXPECT_EQ(RunPixels({To("float32", 1)}, GraySpec(1, 1), {3}).spec.dtype, DType::kU8);
  EXPECT_EQ(RunPixels({To("float32", 1, 1)}, GraySpec(1, 1), {3}).status.code(),
            Code::kUnsupported);
}

TEST(ToDtype, IsRefused) {
  EXPECT_EQ(TensorOf3(To("float32", 1, 3)).status.code(), Code::kUnsupported);
  EXPECT_EQ(TensorOf3(To("bool", 0)).status.code(), Code::kUnsupported);
  EXPECT_EQ(RunPixels({MakeNode("to_tensor"), To("int16", 0)}, GraySpec(1, 1), {3}).status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
