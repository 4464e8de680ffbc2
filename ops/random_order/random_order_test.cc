#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Order(std::vector<std::int64_t> parts) { return MakeNode("random_order", {{"parts", parts}}); }
Node Solarize(double threshold) {
  return MakeNode("random_operation",
                  {{"operation", std::string("solarize")}, {"value", threshold}, {"p", 1.0}});
}
Node Invert() {
  return MakeNode("random_operation", {{"operation", std::string("invert")}, {"p", 1.0}});
}

TEST(RandomOrder, PartsRunInTheDrawnOrder) {
  // 10 -> 245 -> 10 (solarised), or 10 -> 10 -> 245.
  const std::vector<Node> nodes{Order({1, 1}), Invert(), Solarize(128)};
  const auto run = [&](std::vector<std::int32_t> params) {
    return RunPixels(nodes, GraySpec(1, 1), {10}, std::move(params));
  };
  EXPECT_THAT(run({0, 1, 1, 1}).values, ElementsAre(10));
  EXPECT_THAT(run({1, 0, 1, 1}).values, ElementsAre(245));
  EXPECT_THAT(run({1, 1, 1, 1}).status.message(), HasSubstr("no permutation"));
  EXPECT_THAT(run({2, 0, 1, 1}).status.message(), HasSubstr("no permutation"));
  EXPECT_THAT(run({-1, 0, 1, 1}).status.message(), HasSubstr("no permutation"));
}

TEST(RandomOrder, PartsDrawInTheOrderInWhichTheyRun) {
  const Node flip = MakeNode("random_horizontal_flip");
  const Result<Chain> chain = CompileRgb({Order({1, 2}), flip, flip, flip});
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  ASSERT_EQ(chain->param_words(), 5);
  int turned = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TorchGenerator rng(seed), stock(seed);
    std::vector<std::int32_t> params(5);
    TensorSpec out;
    ASSERT_TRUE(chain->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    std::vector<std::int64_t> order(2);
    stock.RandPerm(order);
    EXPECT_EQ(params[0], order[0]);
    const bool happens[3] = {stock.Rand() < 0.5F, stock.Rand() < 0.5F, stock.Rand() < 0.5F};
    const std::vector<std::size_t> drawn =
        order[0] == 0 ? std::vector<std::size_t>{2, 3, 4} : std::vector<std::size_t>{3, 4, 2};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(params[drawn[i]], happens[i] ? 1 : 0);
    EXPECT_EQ(rng.draws(), stock.draws());
    turned += order[0] == 1 ? 1 : 0;
  }
  EXPECT_TRUE(turned > 0 && turned < 20);
}

TEST(RandomOrder, PartsThatChangeTheShapeAreRefused) {
  const Args size{{"size", std::int64_t{8}}};
  EXPECT_THAT(
      CompileRgb({Order({1, 1}), Invert(), MakeNode("center_crop", size)}).status().message(),
      HasSubstr("changes the shape"));
  EXPECT_EQ(CompileRgb({Order({}), Invert()}).status().code(), Code::kUnsupported);
  EXPECT_EQ(CompileRgb({Order({1, 2}), Invert(), Invert()}).status().code(), Code::kUnsupported);
}

TEST(RandomOrder, V1ShufflesWithPythonsGenerator) {
  Node order = Order({1, 1, 1});
  order.args["generator"] = std::string("python");
  const Result<Chain> chain = CompileRgb({order, Invert(), Invert(), Invert()});
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generators rng(seed, true);
    PythonGenerator stock(seed);
    std::vector<std::int32_t> params(6);
    TensorSpec out;
    ASSERT_TRUE(chain->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    std::vector<std::int64_t> shuffled{0, 1, 2};
    stock.Shuffle(shuffled);
    EXPECT_EQ(std::vector<std::int64_t>(params.begin(), params.begin() + 3), shuffled);
    EXPECT_EQ(rng.python->State(), stock.State());
  }
}

}  // namespace
}  // namespace headrace::ops::testing
