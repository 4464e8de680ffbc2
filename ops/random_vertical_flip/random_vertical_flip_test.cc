#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(RandomVerticalFlip, DrawsOneNumber) { ExpectOneDrawDecides("random_vertical_flip"); }

TEST(RandomVerticalFlip, MirrorsWhenDrawn) {
  const std::vector<Node> nodes{MakeNode("random_vertical_flip")};
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {1}).values, ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {0}).values, ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace headrace::ops::testing
