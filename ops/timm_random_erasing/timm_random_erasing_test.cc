#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<Node> TimmErase(Args more) {
  Args args{{"log_ratio", std::vector<double>{std::log(0.3), std::log(1 / 0.3)}},
            {"generator", std::string("python")}};
  for (auto& [name, value] : more) args[name] = value;
  return {MakeNode("to_tensor"), MakeNode("timm_random_erasing", args)};
}

TEST(TimmRandomErasing, DrawsOneNumberWhenItDoesNotHappen) {
  Generators rng(1, true);
  const auto params = DrawNodes(TimmErase({{"probability", 0.0}}), RgbSpec(8, 8), rng);
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  EXPECT_THAT(*params, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(rng.python->draws(), 2U);  // two outputs
  EXPECT_EQ(rng.torch.draws(), 0U);
}

TEST(TimmRandomErasing, SeveralRectanglesOfADrawnCountShareTheArea) {
  const std::vector<Node> nodes = TimmErase(
      {{"probability", 1.0}, {"min_count", std::int64_t{1}}, {"max_count", std::int64_t{3}}});
  int seen[4] = {};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Generators rng(seed, true);
    const auto params = DrawNodes(nodes, RgbSpec(40, 40), rng);
    ASSERT_TRUE(params.ok()) << params.status().ToString();
    int count = 0;
    for (std::size_t i = 0; i < 12; i += 4) {
      if ((*params)[i + 2] > 0) ++count;
      EXPECT_LE((*params)[i] + (*params)[i + 2], 40);
      EXPECT_LE((*params)[i + 1] + (*params)[i + 3], 40);
    }
    ++seen[count];
  }
  EXPECT_TRUE(seen[0] == 0 && seen[1] > 0 && seen[2] > 0 && seen[3] > 0);
}

TEST(TimmRandomErasing, NothingIsErasedWhereNoAttemptFits) {
  Generators rng(1, true);
  const auto params =
      DrawNodes(TimmErase({{"probability", 1.0}, {"scale", std::vector<double>{4.0, 5.0}}}),
                RgbSpec(8, 8), rng);
  ASSERT_TRUE(params.ok());
  EXPECT_THAT(*params, Each(0));
  EXPECT_EQ(rng.python->draws(), 2U + 40U);
}

TEST(TimmRandomErasing, FillsWithZeroAndWhatFollowsMapsIt) {
  std::vector<Node> nodes = TimmErase({});
  nodes.push_back(MakeNode("normalize", {{"mean", 0.25}, {"std", 0.5}}));
  const Ran ran = RunPixels(nodes, GraySpec(1, 3), {255, 255, 255}, {0, 0, 1, 1});
  EXPECT_THAT(ran.values, ElementsAre(-0.5F, 1.5F, 1.5F));
}

TEST(TimmRandomErasing, WhatIsNotDrawnIsRefused) {
  const auto code = [](const std::vector<Node>& nodes) {
    return CompileRgb(nodes).status().code();
  };
  EXPECT_EQ(RunPixels(TimmErase({}), GraySpec(1, 3), {1, 2, 3}, {0, 2, 1, 2}).status.code(),
            Code::kInvalidArgument);
  EXPECT_EQ(code({TimmErase({})[1]}), Code::kUnsupported);  // of a PIL image
  EXPECT_EQ(code(TimmErase({{"min_count", std::int64_t{0}}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmErase({{"max_count", std::int64_t{65}}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmErase({{"min_count", std::int64_t{2}}})), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
