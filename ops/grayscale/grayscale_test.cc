#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(Grayscale, WeighsTheChannelsAsPilDoes) {
  const std::vector<std::uint8_t> pixels{255, 0, 0, 0, 255, 0, 0, 0, 255};
  EXPECT_THAT(RunPixels({MakeNode("grayscale")}, RgbSpec(1, 3), pixels).values,
              ElementsAre(76, 150, 29));
}

TEST(Grayscale, RepeatsOverThreeChannels) {
  const Args three{{"num_output_channels", std::int64_t{3}}};
  EXPECT_THAT(RunPixels({MakeNode("grayscale", three)}, GraySpec(1, 2), {5, 6}).values,
              ElementsAre(5, 5, 5, 6, 6, 6));
  const Args two{{"num_output_channels", std::int64_t{2}}};
  EXPECT_EQ(RunPixels({MakeNode("grayscale", two)}, GraySpec(1, 1), {5}).status.code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
