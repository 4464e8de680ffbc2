#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops {
namespace {

using ::headrace::ops::testing::GraySpec;
using ::headrace::ops::testing::MakeNode;
using ::headrace::ops::testing::RunPixels;
using ::testing::ElementsAre;

Node ToFloat(std::int64_t scale) {
  return MakeNode("to_dtype", {{"dtype", std::string("float32")}, {"scale", scale}});
}

TEST(ToDtype, ScalesByMultiplying) {
  // 3 * (1 / 255) and 3 / 255 are different float32 numbers.
  const float product = 3.0F * static_cast<float>(1.0 / 255.0);
  ASSERT_NE(product, 3.0F / 255.0F);
  EXPECT_THAT(RunPixels({MakeNode("to_image"), ToFloat(1)}, GraySpec(1, 1), {3}).values,
              ElementsAre(product));
}

TEST(ToDtype, WithoutScaleKeepsTheNumbers) {
  EXPECT_THAT(RunPixels({MakeNode("to_image"), ToFloat(0)}, GraySpec(1, 2), {3, 255}).values,
              ElementsAre(3, 255));
}

TEST(ToDtype, LeavesPilImagesAlone) {
  EXPECT_EQ(RunPixels({ToFloat(1)}, GraySpec(1, 1), {3}).spec.dtype, DType::kU8);
}

}  // namespace
}  // namespace headrace::ops
