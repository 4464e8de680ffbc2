#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops {
namespace {

using ::headrace::ops::testing::DrawNode;
using ::headrace::ops::testing::GraySpec;
using ::headrace::ops::testing::MakeNode;
using ::headrace::ops::testing::RgbSpec;
using ::headrace::ops::testing::RunPixels;
using ::testing::ElementsAre;

TEST(RandomVerticalFlip, DrawsOneNumber) {
  TorchGenerator rng(1);
  const auto never = DrawNode(MakeNode("random_vertical_flip", {{"p", 0.0}}), RgbSpec(2, 2), rng);
  const auto always = DrawNode(MakeNode("random_vertical_flip", {{"p", 1.0}}), RgbSpec(2, 2), rng);
  EXPECT_EQ((*never)[0], 0);
  EXPECT_EQ((*always)[0], 1);
  EXPECT_EQ(rng.draws(), 2U);
}

TEST(RandomVerticalFlip, MirrorsWhenDrawn) {
  const std::vector<Node> nodes{MakeNode("random_vertical_flip")};
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {1}).values, ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, {0}).values, ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace headrace::ops
