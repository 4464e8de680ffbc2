#include "ops/core/shared_draws.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Crop(Args args = {}) {
  args.try_emplace("size", std::int64_t{8});
  return MakeNode("random_crop", std::move(args));
}

Node Sharing(Node node, ArgValue of) {
  node.args["draws_of"] = std::move(of);
  return node;
}

Status Refused(std::vector<Node> nodes) { return ReadSharedDraws(nodes).status(); }

TEST(SharedDraws, ANodeNamesAnEarlierOneOfItsOperator) {
  const auto shared = ReadSharedDraws(
      {MakeNode("decode"), Crop(), MakeNode("to_tensor"), Sharing(Crop(), std::int64_t{1})});
  ASSERT_TRUE(shared.ok()) << shared.status().ToString();
  EXPECT_THAT(*shared, ElementsAre(-1, -1, -1, 1));
}

TEST(SharedDraws, WhatDecidesPixelsAloneMayDiffer) {
  EXPECT_TRUE(Refused({Crop(), Sharing(Crop({{"fill", std::int64_t{255}},
                                             {"padding_mode", std::string("edge")}}),
                                       std::int64_t{0})})
                  .ok());
  const auto resized = [](const char* interpolation) {
    return MakeNode("random_resized_crop", {{"size", std::int64_t{8}},
                                            {"interpolation", std::string(interpolation)},
                                            {"antialias", std::int64_t{1}}});
  };
  EXPECT_TRUE(Refused({resized("bilinear"), Sharing(resized("nearest"), std::int64_t{0})}).ok());
  const auto gate = [](std::int64_t nodes) {
    return MakeNode("random_apply", {{"nodes", nodes}, {"p", 0.25}});
  };
  EXPECT_TRUE(Refused({gate(2), Sharing(gate(1), std::int64_t{0})}).ok());
}

TEST(SharedDraws, ArgumentsThatDecideDrawsMustBeTheSame) {
  for (const Args& other :
       {Args{{"size", std::int64_t{9}}}, Args{{"padding", std::int64_t{1}}},
        Args{{"pad_if_needed", std::int64_t{1}}}, Args{{"api", std::int64_t{2}}}}) {
    const Status status = Refused({Crop(), Sharing(Crop(other), std::int64_t{0})});
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("node 1 random_crop: its arguments draw differently"));
  }
}

TEST(SharedDraws, OtherNodesAreRefused) {
  const Node flip = MakeNode("random_horizontal_flip");
  EXPECT_EQ(Refused({Crop(), Sharing(flip, std::int64_t{0})}).code(), Code::kUnsupported);
  // What it draws depends on the picture's channels.
  const Node erasing = MakeNode("random_erasing");
  EXPECT_EQ(Refused({erasing, Sharing(erasing, std::int64_t{0})}).code(), Code::kUnsupported);
  EXPECT_EQ(Refused({flip, Sharing(flip, std::int64_t{0}), Sharing(flip, std::int64_t{1})}).code(),
            Code::kUnsupported);
  for (const ArgValue& of : {ArgValue(std::int64_t{1}), ArgValue(std::int64_t{-1}),
                             ArgValue(std::int64_t{9}), ArgValue(0.0)}) {
    EXPECT_EQ(Refused({flip, Sharing(flip, of)}).code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace::ops::testing
