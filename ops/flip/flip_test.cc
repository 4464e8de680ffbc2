#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node By(const std::string& axis) { return MakeNode("flip", {{"axis", axis}}); }

Ran Flipped(const std::vector<Node>& nodes) {
  return RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4});
}

TEST(Flip, MirrorsByItsAxis) {
  EXPECT_THAT(Flipped({By("horizontal")}).values, ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(Flipped({By("vertical")}).values, ElementsAre(3, 4, 1, 2));
}

TEST(Flip, TwiceIsNothing) {
  EXPECT_THAT(Flipped({By("vertical"), By("vertical")}).values, ElementsAre(1, 2, 3, 4));
}

TEST(Flip, KnowsTwoAxes) {
  EXPECT_EQ(CompileRgb({By("diagonal")}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
