#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Choice(std::vector<std::int64_t> parts) {
  return MakeNode("random_choice", {{"parts", parts}, {"generator", std::string("python")}});
}
Node Weighted(std::vector<std::int64_t> parts, std::vector<double> weights) {
  Node node = Choice(std::move(parts));
  node.args["weights"] = std::move(weights);
  return node;
}
Node InvertPart() {
  return MakeNode("random_operation", {{"operation", std::string("invert")}, {"p", 1.0}});
}
Node FlipPart(double p = 1) { return MakeNode("random_horizontal_flip", {{"p", p}}); }

TEST(RandomChoice, OnePartRuns) {
  const std::vector<Node> nodes{Choice({1, 1}), InvertPart(), FlipPart()};
  const auto run = [&](std::vector<std::int32_t> params) {
    return RunPixels(nodes, GraySpec(1, 2), {1, 2}, std::move(params));
  };
  EXPECT_THAT(run({0, 1, 1}).values, ElementsAre(254, 253));
  EXPECT_THAT(run({1, 1, 1}).values, ElementsAre(2, 1));
  EXPECT_THAT(run({2, 1, 1}).status.message(), HasSubstr("chooses none"));
  EXPECT_THAT(run({-1, 1, 1}).status.message(), HasSubstr("chooses none"));
}

TEST(RandomChoice, DrawsFromPythonAndItsPartFromTorch) {
  const Result<Chain> chain =
      CompileRgb({Choice({1, 2, 1}), FlipPart(0.5), FlipPart(0.5), FlipPart(0.5), FlipPart(0.5)});
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  ASSERT_TRUE(chain->draws_from_python());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generators rng(seed, true);
    PythonGenerator python(seed);
    TorchGenerator torch(seed);
    std::vector<std::int32_t> params(5, 77);
    TensorSpec out;
    ASSERT_TRUE(chain->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    const auto chosen = static_cast<int>(python.Random() * 3);
    EXPECT_EQ(params[0], chosen);
    const int of_node[] = {0, 1, 1, 2};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(params[i + 1], of_node[i] == chosen && torch.Rand() < 0.5F ? 1 : 0);
    }
    EXPECT_EQ(rng.State(), [&] {
      Generators expected(0, true);
      expected.torch = torch;
      expected.python = python;
      return expected.State();
    }());
  }
}

TEST(RandomChoice, WhatPythonOrNobodyWouldDrawIsRefused) {
  const auto code = [](Node node) {
    return CompileRgb({std::move(node), InvertPart(), FlipPart()}).status().code();
  };
  EXPECT_EQ(code(Weighted({1, 1}, {0, 2})), Code::kOk);
  EXPECT_EQ(code(Weighted({1, 1}, {1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Weighted({1, 1}, {0, 0})), Code::kInvalidArgument);
  EXPECT_EQ(code(Weighted({1, 1}, {-1, 2})), Code::kUnsupported);
  EXPECT_EQ(code(MakeNode("random_choice", {{"parts", std::vector<std::int64_t>{1, 1}}})),
            Code::kUnsupported);
  EXPECT_EQ(code(Choice({1, 2})), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
