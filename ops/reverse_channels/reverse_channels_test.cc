#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(ReverseChannels, TurnsEachPixelAround) {
  EXPECT_THAT(RunPixels({MakeNode("reverse_channels")}, RgbSpec(1, 2), {1, 2, 3, 4, 5, 6}).values,
              ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(ReverseChannels, GrayStaysAsItIs) {
  EXPECT_THAT(RunPixels({MakeNode("reverse_channels")}, GraySpec(1, 2), {1, 2}).values,
              ElementsAre(1, 2));
}

TEST(ReverseChannels, MakesTheWindowThatACropShows) {
  const Node crop = MakeNode("crop", {{"top", std::int64_t{1}},
                                      {"left", std::int64_t{1}},
                                      {"size", std::vector<std::int64_t>{1, 1}}});
  EXPECT_THAT(RunPixels({MakeNode("reverse_channels"), crop}, RgbSpec(2, 2),
                        {0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9})
                  .values,
              ElementsAre(9, 8, 7));
}

TEST(ReverseChannels, IsNotForTensors) {
  EXPECT_EQ(RunPixels({MakeNode("to_tensor"), MakeNode("reverse_channels")}, RgbSpec(1, 1), {})
                .status.code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
