#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Apply(std::int64_t nodes, double p = 0.5, std::int64_t api = 1) {
  return MakeNode("random_apply", {{"p", p}, {"nodes", nodes}, {"api", api}});
}
Node Flip(double p = 1) { return MakeNode("random_horizontal_flip", {{"p", p}}); }
Node Invert() {
  return MakeNode("random_operation", {{"operation", std::string("invert")}, {"p", 1.0}});
}
std::string Refused(std::vector<Node> nodes) {
  return CompileRgb(std::move(nodes)).status().message();
}

TEST(RandomApply, WhatFollowsItsNodesRunsAlways) {
  const std::vector<Node> nodes{Apply(2), Flip(), Flip(), Flip()};
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {1, 1, 0, 0}).values, ElementsAre(2, 1));
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {0, 1, 0, 0}).values, ElementsAre(1, 2));
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {0, 1, 1, 1}).values, ElementsAre(2, 1));
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {2, 1, 1, 1}).status.message(),
              HasSubstr("it runs, or it does not"));
}

TEST(RandomApply, OperatorsThatComputeAreLeftOut) {
  const std::vector<Node> nodes{Apply(1), Invert()};
  const Ran ran = RunPixels(nodes, GraySpec(1, 2), {1, 2}, {0, 1});
  EXPECT_THAT(ran.values, ElementsAre(1, 2)) << ran.status.ToString();
  EXPECT_THAT(RunPixels(nodes, GraySpec(1, 2), {1, 2}, {1, 1}).values, ElementsAre(254, 253));
}

TEST(RandomApply, ItsNodesDrawOnlyWhereTheyRun) {
  const Result<Chain> chain = CompileRgb({Apply(2), Flip(0.5), Flip(0.5), Flip(0.5)});
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  bool both[2] = {};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TorchGenerator rng(seed), stock(seed);
    std::vector<std::int32_t> params(4, 77);
    TensorSpec out;
    ASSERT_TRUE(chain->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    const bool runs = !(0.5F < stock.Rand());
    EXPECT_EQ(params[0], runs ? 1 : 0);
    for (const std::size_t i : {1, 2}) EXPECT_EQ(params[i], runs && stock.Rand() < 0.5F ? 1 : 0);
    EXPECT_EQ(params[3], stock.Rand() < 0.5F ? 1 : 0);
    EXPECT_EQ(rng.draws(), stock.draws());
    both[runs ? 1 : 0] = true;
  }
  EXPECT_TRUE(both[0] && both[1]);
}

// v1 asks p < drawn, and v2 drawn >= p: they differ where both are equal.
TEST(RandomApply, ADrawnNumberThatEqualsPIsTheApisMatter) {
  const double p = static_cast<double>(TorchGenerator(5).Rand());
  for (const std::int64_t api : {1, 2}) {
    TorchGenerator rng(5);
    std::vector<std::int32_t> params(2);
    TensorSpec out;
    ASSERT_TRUE(
        CompileRgb({Apply(1, p, api), Flip()})->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    EXPECT_EQ(params[0], api == 1 ? 1 : 0);
  }
}

// if torch.rand(1) > p, and the like.
TEST(RandomApply, AProgramsOwnConditionSaysWhenTheyRun) {
  const float drawn = TorchGenerator(5).Rand();
  const auto runs = [](const std::string& when, float p) {
    Node gate = Apply(1, static_cast<double>(p));
    gate.args["when"] = when;
    TorchGenerator rng(5);
    std::vector<std::int32_t> params(2);
    TensorSpec out;
    EXPECT_TRUE(CompileRgb({gate, Flip()})->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    return params[0] == 1;
  };
  for (const float p : {drawn / 2, drawn, drawn * 2}) {
    EXPECT_EQ(runs("lt", p), drawn < p);
    EXPECT_EQ(runs("le", p), drawn <= p);
    EXPECT_EQ(runs("gt", p), drawn > p);
    EXPECT_EQ(runs("ge", p), drawn >= p);
  }
  Node other = Apply(1);
  other.args["when"] = std::string("eq");
  EXPECT_THAT(Refused({other, Flip()}), HasSubstr("when eq"));
  EXPECT_THAT(Refused({Apply(1, NAN), Flip()}), HasSubstr("no number"));
}

TEST(RandomApply, GatesInsideOfGates) {
  const std::vector<Node> nodes{Apply(3), Flip(), Apply(1), Invert()};
  const auto run = [&](std::vector<std::int32_t> params) {
    return RunPixels(nodes, GraySpec(1, 2), {1, 2}, std::move(params)).values;
  };
  EXPECT_THAT(run({1, 1, 0, 1}), ElementsAre(2, 1));
  EXPECT_THAT(run({1, 1, 1, 1}), ElementsAre(253, 254));
  EXPECT_THAT(run({0, 1, 1, 1}), ElementsAre(1, 2));
}

TEST(RandomApply, NodesThatChangeTheShapeAreRefused) {
  const Args size{{"size", std::int64_t{8}}};
  EXPECT_THAT(Refused({Apply(1), MakeNode("center_crop", size)}), HasSubstr("changes the shape"));
  EXPECT_THAT(Refused({Apply(1), MakeNode("pad", {{"padding", std::int64_t{1}}})}),
              HasSubstr("changes the shape"));
  EXPECT_THAT(Refused({Apply(1), MakeNode("to_tensor")}), HasSubstr("changes the shape"));
  const Node half = MakeNode("to_dtype", {{"dtype", std::string("float16")}});
  EXPECT_THAT(Refused({MakeNode("to_tensor"), half, Apply(1), Flip()}),
              HasSubstr("of uint8 or float32"));
  EXPECT_EQ(Refused({MakeNode("to_tensor"), Apply(1), Flip()}), "");
  const Node normalize = MakeNode(
      "normalize", {{"mean", std::vector<double>{0.5}}, {"std", std::vector<double>{0.25}}});
  EXPECT_THAT(Refused({MakeNode("to_tensor"), Apply(1), normalize}), HasSubstr("maps elements"));
  EXPECT_EQ(Refused({MakeNode("center_crop", size), Apply(1), MakeNode("center_crop", size)}), "");
}

// No size that the compiler tries is large enough for the first crop.
TEST(RandomApply, EachSampleIsLookedAtAgain) {
  const std::vector<Node> nodes{
      MakeNode("random_crop", {{"size", std::int64_t{1000}}}), Apply(1, 1),
      MakeNode("center_crop", {{"size", std::vector<std::int64_t>{500, 2000}}})};
  const Result<Chain> chain = CompileRgb(nodes);
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  const TensorSpec large = RgbSpec(1001, 1002);
  TorchGenerator rng(1);
  std::vector<std::int32_t> params(3);
  TensorSpec out;
  const Status drawn = chain->Draw(RowOf(large), rng, params, &out);
  EXPECT_EQ(drawn.code(), Code::kUnsupported);
  EXPECT_THAT(drawn.message(), HasSubstr("changes the shape"));
  std::vector<TensorSpec> after(4);
  EXPECT_EQ(chain->Shapes(RowOf(large), after).code(), Code::kUnsupported);
  // As many bytes as without it.
  const Pixels pixels(large.bytes());
  Pixels made(3000000);
  const Result<ChainRunner> runner = ChainRunner::Make(std::make_shared<const Chain>(*chain));
  OpContext context;
  const Status ran = runner->RunPixels(std::as_bytes(std::span(pixels)), RowOf(large), params,
                                       context, std::as_writable_bytes(std::span(made)));
  EXPECT_EQ(ran.code(), Code::kUnsupported) << ran.ToString();
}

TEST(RandomApply, ItsNodesMustFollowIt) {
  EXPECT_THAT(Refused({Apply(2), Flip()}), HasSubstr("do not follow it"));
  EXPECT_THAT(Refused({Apply(1), Apply(1), Flip()}), HasSubstr("belong to another gate"));
  EXPECT_THAT(Refused({Apply(0), Flip()}), HasSubstr("no node"));
  EXPECT_THAT(Refused({Apply(1000), Flip()}), HasSubstr("no node, or of too many"));
}

// if random.random() > p, and the like.
TEST(RandomApply, PythonsNumberIsComparedWithAllOfItsBits) {
  const double drawn = PythonGenerator(5).Random();
  const auto runs = [](const std::string& when, double p) {
    Node gate = Apply(1, p);
    gate.args["when"] = when;
    gate.args["generator"] = std::string("python");
    Generators rng(5, true);
    std::vector<std::int32_t> params(2);
    TensorSpec out;
    EXPECT_TRUE(CompileRgb({gate, Flip()})->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    EXPECT_EQ(rng.python->draws(), 2U);
    return params[0] == 1;
  };
  for (const double p : {std::nextafter(drawn, 0), drawn, std::nextafter(drawn, 1)}) {
    EXPECT_EQ(runs("lt", p), drawn < p);
    EXPECT_EQ(runs("le", p), drawn <= p);
    EXPECT_EQ(runs("gt", p), drawn > p);
    EXPECT_EQ(runs("ge", p), drawn >= p);
  }
  Node other = Apply(1);
  other.args["generator"] = std::string("numpy");
  EXPECT_THAT(Refused({other, Flip()}), HasSubstr("generator numpy"));
}

// if random.randint(0, 2):
TEST(RandomApply, EquallyLikelyCasesAreDrawnByPython) {
  Node gate = Apply(1);
  gate.args["cases"] = std::vector<std::int64_t>{0, 1, 1};
  EXPECT_THAT(Refused({gate, Flip()}), HasSubstr("torch's generator"));
  gate.args["generator"] = std::string("python");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generators rng(seed, true);
    PythonGenerator stock(seed);
    std::vector<std::int32_t> params(2);
    TensorSpec out;
    ASSERT_TRUE(CompileRgb({gate, Flip()})->Draw(RowOf(RgbSpec(2, 2)), rng, params, &out).ok());
    EXPECT_EQ(params[0], stock.Below(3) > 0 ? 1 : 0);
    EXPECT_EQ(rng.python->State(), stock.State());
  }
}

}  // namespace
}  // namespace headrace::ops::testing
