#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(PilToTensor, KeepsBytesAndPutsChannelsFirst) {
  const Ran ran = RunPixels({MakeNode("pil_to_tensor")}, RgbSpec(1, 2), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ran.spec, (TensorSpec{DType::kU8, Layout::kChw, {3, 1, 2}}));
  EXPECT_THAT(ran.values, ElementsAre(1, 4, 2, 5, 3, 6));
}

}  // namespace
}  // namespace headrace::ops::testing
