#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Convert(const std::string& code) {
  return MakeNode("cv_cvt_color", {{"code", code}, {"version", std::int64_t{5}}});
}

TEST(CvCvtColor, ChangesTheNumberOfChannels) {
  const auto gray = RunPixels({Convert("BGR2GRAY")}, RgbSpec(1, 2), {255, 0, 0, 0, 0, 255});
  EXPECT_EQ(gray.spec.dims, (Dims{1, 2, 1}));
  EXPECT_THAT(gray.values, ElementsAre(29, 76));  // 0.114 and 0.299
  EXPECT_THAT(RunPixels({Convert("GRAY2BGR")}, GraySpec(1, 1), {7}).values, ElementsAre(7, 7, 7));
}

TEST(CvCvtColor, OnlyWithTheChannelsThatTheCodeTakes) {
  EXPECT_EQ(RunPixels({Convert("BGR2GRAY")}, GraySpec(1, 1), {7}).status.code(),
            Code::kUnsupported);
  EXPECT_EQ(RunPixels({Convert("GRAY2BGR")}, RgbSpec(1, 1), {7, 7, 7}).status.code(),
            Code::kUnsupported);
  EXPECT_EQ(RunPixels({Convert("BayerBG2BGR")}, GraySpec(1, 1), {7}).status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
