#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

// Name the hazard, not the function.
TEST(Example, LeavesTheImageAloneWhenItDoesNotHappen) {
  const std::vector<Node> nodes{MakeNode("example")};
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {0}).values, ElementsAre(1, 2));
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {1}).values, ElementsAre(254, 253));
}

}  // namespace
}  // namespace headrace::ops::testing
