#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(RandomHorizontalFlip, DrawsOneNumber) { ExpectOneDrawDecides("random_horizontal_flip"); }

TEST(RandomHorizontalFlip, MirrorsWhenDrawn) {
  const std::vector<Node> nodes{MakeNode("random_horizontal_flip")};
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {1}).values, ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {0}).values, ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace headrace::ops::testing
