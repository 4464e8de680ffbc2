#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Node Shortest(std::vector<std::int64_t> lengths, std::int64_t most) {
  return MakeNode("random_shortest_size", {{"min_size", std::move(lengths)}, {"max_size", most}});
}
const Node kShortestCrop = MakeNode("center_crop", {{"size", std::int64_t{2}}});

TEST(RandomShortestSize, DrawsOneOfTheLengthsWithinTheBound) {
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  TorchGenerator rng(1);
  for (int i = 0; i < 200; ++i) {
    const auto drawn = DrawNodes({Shortest({10, 15, 30}, 40), kShortestCrop}, RgbSpec(20, 31), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    seen.insert({(*drawn)[0], (*drawn)[1]});
  }
  // 31 * (10 / 20), 31 * (15 / 20), and 20 * (40 / 31): fractions are dropped.
  EXPECT_THAT(seen, ElementsAre(Pair(10, 15), Pair(15, 23), Pair(25, 40)));
  EXPECT_EQ(rng.draws(), 200U);
}

TEST(RandomShortestSize, ParamsThatAreNeverDrawnAreRefused) {
  const Pixels pixels(12);
  const std::vector<Node> nodes{Shortest({6}, 100), kShortestCrop};
  EXPECT_TRUE(RunPixels(nodes, GraySpec(3, 4), pixels, {6, 8}).status.ok());
  for (const std::int32_t width : {7, 0, -1, 1 << 30}) {
    EXPECT_EQ(RunPixels(nodes, GraySpec(3, 4), pixels, {6, width}).status.code(),
              Code::kInvalidArgument);
  }
}

TEST(RandomShortestSize, LengthsThatAreNoSizesAreNotNative) {
  for (const std::int64_t length : {0, -3, 1 << 30}) {
    EXPECT_EQ(CompileRgb({Shortest({8, length}, 9), kShortestCrop}).status().code(),
              Code::kUnsupported);
    EXPECT_EQ(CompileRgb({Shortest({8}, length), kShortestCrop}).status().code(),
              Code::kUnsupported);
  }
}

}  // namespace
}  // namespace headrace::ops::testing
