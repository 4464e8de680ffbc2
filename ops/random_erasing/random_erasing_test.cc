#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(RandomErasing, DrawsNothingMoreWhenItDoesNotHappen) {
  TorchGenerator rng(1);
  const std::vector<Node> nodes{MakeNode("from_array", testing::Rgb()), MakeNode("to_tensor"),
                                MakeNode("random_erasing", {{"p", 0.0}})};
  const Bytes table = testing::PlainExpTable(nodes);
  const Result<Chain> chain = Chain::Compile(nodes, testing::Libraries(), {{"torch_exp", table}});
  ASSERT_TRUE(chain.ok());
  std::vector<std::int32_t> params(4, 9);
  TensorSpec out;
  ASSERT_TRUE(chain->Draw(testing::RowOf(RgbSpec(8, 8)), rng, params, &out).ok());
  EXPECT_EQ(rng.draws(), 1U);
  EXPECT_THAT(params, ElementsAre(0, 0, 0, 0));
}

std::vector<Node> Erase(ArgValue value) {
  return {MakeNode("to_tensor"), MakeNode("random_erasing", {{"value", std::move(value)}})};
}

TEST(RandomErasing, FillsTheRectangleOfEachChannel) {
  const Ran ran = RunPixels(Erase(std::vector<double>{1.5, 2.5, 3.5}), RgbSpec(1, 2),
                            {0, 0, 0, 0, 0, 0}, {0, 1, 1, 1});
  EXPECT_THAT(ran.values, ElementsAre(0, 1.5F, 0, 2.5F, 0, 3.5F));
}

TEST(RandomErasing, ValueGoesThroughWhatFollowsAndMovesWithFlips) {
  std::vector<Node> nodes = Erase(0.5);
  nodes.push_back(MakeNode("normalize", {{"mean", 0.25}, {"std", 0.5}}));
  nodes.push_back(MakeNode("random_horizontal_flip"));
  const Ran ran = RunPixels(nodes, GraySpec(1, 3), {255, 255, 255}, {0, 0, 1, 1, 1});
  EXPECT_THAT(ran.values, ElementsAre(1.5F, 1.5F, 0.5F));
}

TEST(RandomErasing, RectangleOutOfTheImageIsRefused) {
  EXPECT_EQ(RunPixels(Erase(0.5), GraySpec(1, 3), {1, 2, 3}, {0, 2, 1, 2}).status.code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
