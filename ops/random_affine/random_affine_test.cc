#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Node Affine(Args args) {
  args["degrees"] = std::vector<double>{0, 0};
  return MakeNode("random_affine", args);
}

std::uint64_t DrawsOf(const Args& args) {
  TorchGenerator rng(1);
  EXPECT_TRUE(DrawNode(Affine(args), GraySpec(4, 4), rng).ok());
  return rng.draws();
}

TEST(RandomAffine, DrawsWhatItIsAskedFor) {
  EXPECT_EQ(DrawsOf({}), 1U);
  EXPECT_EQ(DrawsOf({{"translate", std::vector<double>{0, 0}}}), 3U);
  EXPECT_EQ(DrawsOf({{"scale", std::vector<double>{1, 2}}}), 2U);
  EXPECT_EQ(DrawsOf({{"shear", std::vector<double>{0, 1}}}), 2U);
  EXPECT_EQ(DrawsOf({{"shear", std::vector<double>{0, 1, 0, 1}}}), 3U);
}

TEST(RandomAffine, ScalesAroundTheCenter) {
  for (const std::int64_t api : {1, 2}) {
    const Node node = Affine({{"scale", std::vector<double>{0.5, 0.5}}, {"api", api}});
    TorchGenerator rng(1);
    const auto params = DrawNode(node, GraySpec(1, 4), rng);
    ASSERT_TRUE(params.ok());
    // Half a pixel of the row's height is left, and the middle of the pixel lies in it.
    EXPECT_THAT(RunPixels({node}, GraySpec(1, 4), {10, 20, 30, 40}, *params).values,
                ElementsAre(0, 20, 40, 0));
  }
}

TEST(RandomAffine, WhatHasNoNativeFormSaysSo) {
  const auto code = [](const std::string& name, const ArgValue& value) {
    const std::vector<std::int32_t> params(13);
    return RunPixels({Affine({{name, value}})}, GraySpec(1, 1), {1}, params).status.code();
  };
  EXPECT_EQ(code("center", std::vector<double>{0, 0}), Code::kOk);
  EXPECT_EQ(code("center", std::vector<double>{0}), Code::kUnsupported);
  EXPECT_EQ(code("translate", std::vector<double>{0, 1.5}), Code::kInvalidArgument);
  EXPECT_EQ(code("scale", std::vector<double>{0, 1}), Code::kInvalidArgument);
  EXPECT_EQ(code("shear", std::vector<double>{0, 1, 2}), Code::kUnsupported);
  EXPECT_EQ(code("interpolation", std::string("box")), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
