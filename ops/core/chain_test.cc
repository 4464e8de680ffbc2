#include "ops/core/chain.h"

#include <bit>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::HasSubstr;

std::vector<Node> ImageNetTrain() {
  return {MakeNode("decode"), MakeNode("random_resized_crop", {{"size", std::int64_t{224}}}),
          MakeNode("random_horizontal_flip"), MakeNode("to_tensor"),
          MakeNode("normalize", {{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                                 {"std", std::vector<double>{0.229, 0.224, 0.225}}})};
}

Result<Chain> Compile(std::vector<Node> nodes) {
  return Chain::Compile(std::move(nodes), Libraries(), {});
}

TEST(Chain, ImageNetTrainDrawsCropAndFlip) {
  const std::vector<Node> nodes = ImageNetTrain();
  const Bytes table = PlainExpTable(nodes);
  const Result<Chain> chain = Chain::Compile(nodes, Libraries(), {{"torch_exp", table}});
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  EXPECT_TRUE(chain->is_random());
  EXPECT_EQ(chain->param_words(), 5);
  EXPECT_EQ(chain->param_offset(2), 4);
  EXPECT_EQ(chain->pure_prefix(), 1);
  TorchGenerator rng(0);
  std::vector<std::int32_t> params(5);
  TensorSpec out;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(chain->Draw(RgbSpec(375, 500), rng, params, &out).ok());
    EXPECT_GE(params[0], 0);
    EXPECT_LE(params[0] + params[2], 375);
    EXPECT_LE(params[1] + params[3], 500);
    EXPECT_TRUE(params[4] == 0 || params[4] == 1);
  }
  EXPECT_EQ(out, (TensorSpec{DType::kF32, Layout::kChw, {3, 224, 224}}));
}

TEST(Chain, DrawWithoutTheExpTableSaysSo) {
  const Result<Chain> chain = Compile(ImageNetTrain());
  ASSERT_TRUE(chain.ok());
  TorchGenerator rng(0);
  std::vector<std::int32_t> params(5);
  TensorSpec out;
  const Status status = chain->Draw(RgbSpec(375, 500), rng, params, &out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("node 1 random_resized_crop: the plan's constant"));
}

TEST(Chain, PrefixEndsBeforeChanceAndBeforeTensors) {
  const Args size{{"size", std::int64_t{8}}};
  const auto prefix = [](std::vector<Node> nodes) {
    return Compile(std::move(nodes))->pure_prefix();
  };
  EXPECT_EQ(prefix({MakeNode("decode"), MakeNode("resize", size), MakeNode("center_crop", size),
                    MakeNode("to_tensor")}),
            3);
  EXPECT_EQ(
      prefix({MakeNode("decode"), MakeNode("random_vertical_flip"), MakeNode("resize", size)}), 1);
}

TEST(Chain, PrefixHashKnowsArgumentsAndPillowButNotTheTail) {
  const auto hash = [](std::int64_t side, bool tail, const std::string& pillow) {
    std::vector<Node> nodes{MakeNode("decode"), MakeNode("resize", {{"size", side}})};
    if (tail) nodes.push_back(MakeNode("to_tensor"));
    return Chain::Compile(nodes, Libraries(pillow), {})->prefix_text();
  };
  EXPECT_EQ(hash(8, false, "13.0.0"), hash(8, true, "13.0.1"));
  EXPECT_NE(hash(8, false, "13.0.0"), hash(9, false, "13.0.0"));
  EXPECT_NE(hash(8, false, "13.0.0"), hash(8, false, "12.3.0"));
  EXPECT_NE(hash(8, false, "12.2.0"), hash(8, false, "12.1.0"));  // another order of passes
  EXPECT_EQ(hash(8, false, "13"), hash(8, true, "13"));
}

int TailOf(std::vector<Node> nodes) {
  nodes.insert(nodes.begin(), MakeNode("decode"));
  const Result<Chain> chain = Compile(std::move(nodes));
  EXPECT_TRUE(chain.ok()) << chain.status().ToString();
  return chain.ok() ? chain->tail() : -1;
}

TEST(Chain, TheTailMapsUint8ToWiderElementsAndNothingElseFollows) {
  const Node normalize = MakeNode("normalize", {{"mean", 0.5}, {"std", 0.5}});
  const auto to = [](const std::string& dtype) {
    return MakeNode("to_dtype", {{"dtype", dtype}, {"scale", std::int64_t{1}}});
  };
  const Node flip = MakeNode("random_horizontal_flip");
  EXPECT_EQ(Compile(ImageNetTrain())->tail(), 3);
  EXPECT_EQ(TailOf({MakeNode("to_tensor")}), 1);
  EXPECT_EQ(TailOf({MakeNode("to_image"), flip, to("float32"), normalize}), 1);
  EXPECT_EQ(TailOf({MakeNode("to_tensor"), normalize, flip, MakeNode("random_vertical_flip")}), 1);
  EXPECT_EQ(TailOf({MakeNode("to_tensor"), to("float16")}), 1);
  // An operator on tensors of uint8 stays on the worker.
  EXPECT_EQ(TailOf({MakeNode("to_image"), MakeNode("pad", {{"padding", std::int64_t{1}}}),
                    to("float32")}),
            3);
  // Values that no uint8 stands for follow.
  EXPECT_EQ(TailOf({MakeNode("to_tensor"), normalize, MakeNode("random_erasing")}), 0);
  EXPECT_EQ(TailOf({MakeNode("to_tensor"), MakeNode("pad", {{"padding", std::int64_t{1}}})}), 0);
  // Nothing is saved.
  EXPECT_EQ(TailOf({MakeNode("to_image")}), 0);
  EXPECT_EQ(TailOf({MakeNode("to_image"), to("int8")}), 0);
  EXPECT_EQ(TailOf({flip}), 0);
}

TEST(Chain, WhatHasNoNativeFormIsNamed) {
  EXPECT_THAT(Compile({MakeNode("decode"), MakeNode("random_photograph")}).status().message(),
              HasSubstr("node 1 random_photograph: no native operator"));
  Node python = MakeNode("lambda");
  python.form = Form::kPython;
  python.label = "Lambda(f)";
  python.reason = "a lambda";
  EXPECT_EQ(Compile({MakeNode("decode"), python}).status(),
            Unsupported("node 1 Lambda(f): a lambda"));
  EXPECT_EQ(Compile({MakeNode("to_tensor")}).status().code(), Code::kUnsupported);
  EXPECT_EQ(Compile({MakeNode("decode"), MakeNode("decode")}).status().code(), Code::kUnsupported);
  EXPECT_EQ(Compile({}).status().code(), Code::kUnsupported);
}

// A plan comes from a peer. Some operators look at what they are given when they are made.
TEST(Chain, WhatIsNoSourceIsRefusedAtTheBeginning) {
  const std::vector<double> three = {0.5, 0.5, 0.5};
  for (const Node& first :
       {MakeNode("random_crop", {{"size", std::vector<std::int64_t>{8, 8}}, {"fill", 0.0}}),
        MakeNode("normalize", {{"mean", three}, {"std", three}}),
        MakeNode("pad", {{"padding", std::vector<std::int64_t>{1}}, {"fill", 1.0}}),
        MakeNode("random_erasing", {{"value", three}}), MakeNode("color_jitter"),
        MakeNode("horizontal_flip"), MakeNode("random_horizontal_flip")}) {
    for (const bool alone : {true, false}) {
      std::vector<Node> nodes = {first};
      if (!alone) nodes.push_back(MakeNode("to_tensor"));
      EXPECT_FALSE(Chain::Compile(nodes, Libraries(), {}).ok()) << first.op;
    }
  }
}

TEST(Chain, ImagesWithoutPixelsAreRefused) {
  const Result<Chain> chain = Compile({MakeNode("decode")});
  TorchGenerator rng(0);
  TensorSpec out;
  EXPECT_EQ(chain->Draw(RgbSpec(0, 5), rng, {}, &out).code(), Code::kInvalidArgument);
  EXPECT_EQ(chain->Draw(RgbSpec(1 << 20, 1 << 20), rng, {}, &out).code(), Code::kUnsupported);
}

TEST(Chain, SampleSeedDependsOnEverything) {
  const std::uint64_t seed = Chain::SampleSeed(1, 2, 0);
  EXPECT_EQ(seed, Chain::SampleSeed(1, 2, 0));
  EXPECT_NE(seed, Chain::SampleSeed(2, 2, 0));
  EXPECT_NE(seed, Chain::SampleSeed(1, 3, 0));
  EXPECT_NE(seed, Chain::SampleSeed(1, 2, 1));
}

}  // namespace
}  // namespace headrace::ops::testing
