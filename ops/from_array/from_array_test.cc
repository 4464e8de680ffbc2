#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

TEST(FromArray, RowsOfAnotherShapeAreRefused) {
  EXPECT_EQ(RunPixels({}, {DType::kU8, Layout::kHwc, {2, 2, 4}}, {}).status.code(),
            Code::kInvalidArgument);
  EXPECT_EQ(RunPixels({}, {DType::kF32, Layout::kHwc, {2, 2, 3}}, {}).status.code(),
            Code::kInvalidArgument);
}

TEST(FromArray, TooFewPixelsAreRefused) {
  EXPECT_EQ(RunPixels({}, GraySpec(2, 2), {1, 2, 3}).status.code(), Code::kInvalidArgument);
}

TEST(FromArray, OtherModesHaveNoNativeForm) {
  const Node node = MakeNode("from_array", {{"mode", std::string("RGBA")}});
  EXPECT_EQ(Chain::Compile({node}, testing::Libraries(), {}).status(),
            Unsupported("node 0 from_array: mode RGBA"));
}

}  // namespace
}  // namespace headrace::ops::testing
