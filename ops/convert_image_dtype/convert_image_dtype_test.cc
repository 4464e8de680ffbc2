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

Node ToFloat(std::int64_t api) {
  return MakeNode("convert_image_dtype", {{"dtype", std::string("float32")}, {"api", api}});
}

TEST(ConvertImageDtype, V1DividesV2Multiplies) {
  const Node tensor = MakeNode("pil_to_tensor");
  EXPECT_THAT(RunPixels({tensor, ToFloat(1)}, GraySpec(1, 1), {3}).values,
              ElementsAre(3.0F / 255.0F));
  EXPECT_THAT(RunPixels({tensor, ToFloat(2)}, GraySpec(1, 1), {3}).values,
              ElementsAre(3.0F * static_cast<float>(1.0 / 255.0)));
}

TEST(ConvertImageDtype, SameTypeIsNoChange) {
  EXPECT_THAT(RunPixels({MakeNode("to_tensor"), ToFloat(1)}, GraySpec(1, 1), {255}).values,
              ElementsAre(1));
}

TEST(ConvertImageDtype, UnknownApiIsRefused) {
  EXPECT_EQ(RunPixels({MakeNode("pil_to_tensor"), ToFloat(3)}, GraySpec(1, 1), {3}).status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops
