#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(RandomGrayscale, KeepsTheChannels) {
  const std::vector<Node> nodes{MakeNode("random_grayscale")};
  EXPECT_THAT(RunPixels(nodes, RgbSpec(1, 1), {255, 0, 0}, {1}).values, ElementsAre(76, 76, 76));
  EXPECT_THAT(RunPixels(nodes, RgbSpec(1, 1), {255, 0, 0}, {0}).values, ElementsAre(255, 0, 0));
}

TEST(RandomGrayscale, DrawsOneNumberForGrayImagesToo) {
  TorchGenerator rng(1);
  EXPECT_TRUE(DrawNode(MakeNode("random_grayscale"), GraySpec(2, 2), rng).ok());
  EXPECT_EQ(rng.draws(), 1U);
}

}  // namespace
}  // namespace headrace::ops::testing
