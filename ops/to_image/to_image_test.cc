#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(ToImage, ConvertsImagesAndKeepsTensors) {
  const Ran image = RunPixels({MakeNode("to_image")}, RgbSpec(1, 2), {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(image.values, ElementsAre(1, 4, 2, 5, 3, 6));
  const Ran tensor =
      RunPixels({MakeNode("to_tensor"), MakeNode("to_image")}, GraySpec(1, 1), {255});
  EXPECT_EQ(tensor.spec.dtype, DType::kF32);
  EXPECT_THAT(tensor.values, ElementsAre(1));
}

}  // namespace
}  // namespace headrace::ops::testing
