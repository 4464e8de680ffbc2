#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(ToTensor, DividesAndPutsChannelsFirst) {
  const Ran ran = RunPixels({MakeNode("to_tensor")}, RgbSpec(1, 2), {0, 1, 2, 255, 254, 253});
  EXPECT_EQ(ran.spec, (TensorSpec{DType::kF32, Layout::kChw, {3, 1, 2}}));
  EXPECT_THAT(ran.values, ElementsAre(0, 1, 1 / 255.F, 254 / 255.F, 2 / 255.F, 253 / 255.F));
}

TEST(ToTensor, TwiceHasNoNativeForm) {
  EXPECT_EQ(
      RunPixels({MakeNode("to_tensor"), MakeNode("to_tensor")}, RgbSpec(1, 1), {}).status.code(),
      Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
