#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Rotate(double low, double high) {
  return MakeNode("random_rotation", {{"degrees", std::vector<double>{low, high}}});
}

std::vector<float> Rotated(const Node& node, const TensorSpec& spec,
                           const std::vector<std::uint8_t>& pixels) {
  TorchGenerator rng(1);
  const auto params = DrawNode(node, spec, rng);
  EXPECT_TRUE(params.ok());
  EXPECT_EQ(rng.draws(), 1U);
  return RunPixels({node}, spec, pixels, *params).values;
}

TEST(RandomRotation, QuarterTurnsAreCounterClockwise) {
  EXPECT_THAT(Rotated(Rotate(90, 90), GraySpec(2, 2), {1, 2, 3, 4}), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(Rotated(Rotate(-90, -90), GraySpec(2, 2), {1, 2, 3, 4}), ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(Rotated(Rotate(720, 720), GraySpec(2, 2), {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
}

TEST(RandomRotation, TurnsAroundItsCenter) {
  Node node = Rotate(180, 180);
  node.args["center"] = std::vector<double>{1, 0.5};
  node.args["fill"] = std::int64_t{9};
  EXPECT_THAT(Rotated(node, GraySpec(1, 3), {1, 2, 3}), ElementsAre(2, 1, 9));
}

TEST(RandomRotation, WhatHasNoNativeFormSaysSo) {
  const auto code = [](const std::string& name, const ArgValue& value) {
    Node node = Rotate(-1, 1);
    node.args[name] = value;
    const std::vector<std::int32_t> params(13);
    return RunPixels({node}, GraySpec(1, 1), {1}, params).status.code();
  };
  EXPECT_EQ(code("expand", std::int64_t{0}), Code::kOk);
  EXPECT_EQ(code("expand", std::int64_t{1}), Code::kUnsupported);
  EXPECT_EQ(code("interpolation", std::string("lanczos")), Code::kUnsupported);
  EXPECT_EQ(code("degrees", std::vector<double>{2, 1}), Code::kUnsupported);
  EXPECT_EQ(code("center", std::vector<double>{2, 1, 3}), Code::kUnsupported);
}

TEST(RandomRotation, ParametersOfNoDrawAreRefused) {
  std::vector<std::int32_t> params(13);
  const double bad = std::numeric_limits<double>::infinity();
  std::memcpy(params.data() + 2, &bad, sizeof(bad));
  EXPECT_EQ(RunPixels({Rotate(-1, 1)}, GraySpec(1, 1), {1}, params).status.code(),
            Code::kInvalidArgument);
}

TEST(RandomRotation, TensorsAreTurnedAroundTheirCenter) {
  for (const std::int64_t api : {1, 2}) {
    Node node = Rotate(90, 90);
    node.args["tensor_grids"] = std::int64_t{1};
    node.args["api"] = api;
    const std::vector<Node> nodes{MakeNode("pil_to_tensor"), node};
    TorchGenerator rng(1);
    const auto drawn = DrawNodes(nodes, GraySpec(2, 2), rng);
    ASSERT_TRUE(drawn.ok());
    // v2 turns whole pixels, v1 transforms.
    EXPECT_EQ(drawn->back(), api == 1 ? -1 : 1);
    EXPECT_THAT(RunPixels(nodes, GraySpec(2, 2), {1, 2, 3, 4}, *drawn).values,
                ElementsAre(2, 4, 1, 3));
    const auto wide = DrawNodes(nodes, GraySpec(1, 2), rng);
    ASSERT_TRUE(wide.ok());
    EXPECT_EQ(wide->back(), -1);
    EXPECT_EQ(DrawNodes(nodes, GraySpec(257, 257), rng).ok(), api == 1);
  }
}

TEST(RandomRotation, TensorsNeedKnownProductsOfMatrices) {
  const auto status = [](std::optional<std::int64_t> products, bool tensor) {
    Node node = Rotate(1, 2);
    if (products) node.args["tensor_grids"] = *products;
    std::vector<Node> nodes{node};
    if (tensor) nodes.insert(nodes.begin(), MakeNode("pil_to_tensor"));
    return RunPixels(nodes, GraySpec(1, 1), {1}, std::vector<std::int32_t>(13)).status;
  };
  for (const bool tensor : {false, true}) {
    EXPECT_EQ(status(1, tensor).code(), Code::kOk);
    EXPECT_EQ(status(2, tensor).code(), Code::kOk);
    for (const std::int64_t later : {-1, 3}) {
      EXPECT_EQ(status(later, tensor).code(), Code::kInvalidArgument);
      EXPECT_THAT(status(later, tensor).message(), HasSubstr("tensor_grids is not 0, 1 or 2"));
    }
    for (const std::optional<std::int64_t> unknown : {std::optional<std::int64_t>(0), {}}) {
      EXPECT_EQ(status(unknown, tensor).code(), tensor ? Code::kUnsupported : Code::kOk);
    }
  }
  EXPECT_THAT(status(0, true).message(), HasSubstr("multiplies matrices"));
}

TEST(RandomRotation, TurnsThatDoNotFitTheImageAreRefused) {
  std::vector<std::int32_t> params(13);
  const auto code = [&](std::int32_t turns, std::int64_t width) {
    params.back() = turns;
    const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width));
    return RunPixels({Rotate(-1, 1)}, GraySpec(1, width), pixels, params).status.code();
  };
  EXPECT_EQ(code(-1, 2), Code::kOk);
  EXPECT_EQ(code(2, 2), Code::kOk);
  EXPECT_EQ(code(1, 1), Code::kOk);
  EXPECT_EQ(code(1, 2), Code::kInvalidArgument);
  EXPECT_EQ(code(4, 1), Code::kInvalidArgument);
  EXPECT_EQ(code(-2, 1), Code::kInvalidArgument);
}

TEST(RandomRotation, PythonsAngleIsUniformsOrOneOfTheChoices) {
  const auto draw = [](Args args, std::uint64_t seed, Generators& rng) {
    rng = Generators(seed, true);
    args["generator"] = std::string("python");
    const auto params = DrawNode(MakeNode("random_rotation", args), GraySpec(4, 6), rng);
    EXPECT_TRUE(params.ok()) << params.status().ToString();
    return *params;
  };
  const auto fixed = [&](double degrees) {
    Generators rng;
    return draw({{"degrees", std::int64_t{0}}, {"choices", degrees}}, 0, rng);
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generators rng;
    PythonGenerator stock(seed);
    EXPECT_EQ(draw({{"degrees", std::vector<double>{-7, 30}}}, seed, rng),
              fixed(stock.Uniform(-7, 30)));
    EXPECT_EQ(rng.python->State(), stock.State());
    stock = PythonGenerator(seed);
    const std::vector<double> choices{0, 90, 180, 270, 3.5};
    EXPECT_EQ(draw({{"degrees", std::int64_t{0}}, {"choices", choices}}, seed, rng),
              fixed(choices[stock.Below(5)]));
    EXPECT_EQ(rng.python->State(), stock.State());
  }
}

}  // namespace
}  // namespace headrace::ops::testing
