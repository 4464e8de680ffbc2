#include "ops/core/graph.h"

#include <cstdlib>
#include <random>
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
using Inputs = std::vector<std::int32_t>;

Node After(std::int32_t input, Node node) {
  node.inputs = {input};
  return node;
}
Node Of(Inputs inputs, Node node) {
  node.inputs = std::move(inputs);
  return node;
}
Node Crop(std::int64_t size) { return MakeNode("random_crop", {{"size", size}}); }
Node CenterCrop(std::int64_t size) { return MakeNode("center_crop", {{"size", size}}); }
Node Flip() { return MakeNode("random_horizontal_flip"); }
Node Resized(std::int64_t size) { return MakeNode("random_resized_crop", {{"size", size}}); }

Result<Graph> Compile(const std::vector<Node>& nodes, Inputs values) {
  static const Bytes table = PlainExpTable({MakeNode("decode"), Resized(8)});
  return Graph::Compile(nodes, std::move(values), Libraries(), {{"torch_exp", table}});
}

std::vector<TensorSpec> ShapesOf(const Graph& graph, const TensorSpec& in) {
  std::vector<TensorSpec> out(graph.values().size());
  EXPECT_TRUE(graph.Shapes(in, out, nullptr).ok());
  return out;
}

TEST(Graph, OneChainIsThatChain) {
  const std::vector<Node> nodes{MakeNode("decode"),
                                MakeNode("resize", {{"size", std::int64_t{40}}}), Crop(8), Flip(),
                                MakeNode("to_tensor")};
  const Result<Graph> graph = Compile(nodes, {});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Chain chain = *Chain::Compile(nodes, Libraries(), {});
  EXPECT_EQ(graph->chains(), 1U);
  EXPECT_EQ(graph->param_words(), chain.param_words());
  EXPECT_EQ(graph->pure_prefix(), 2);
  EXPECT_EQ(AsText(graph->prefix_text()).substr(8), AsText(chain.prefix_text()));
  TorchGenerator mine(3), theirs(3);
  std::vector<std::int32_t> drawn(3), expected(3);
  std::vector<TensorSpec> out(1);
  TensorSpec last;
  ASSERT_TRUE(graph->Draw(RgbSpec(50, 60), mine, drawn, out).ok());
  ASSERT_TRUE(chain.Draw(RgbSpec(50, 60), theirs, expected, &last).ok());
  EXPECT_EQ(drawn, expected);
  EXPECT_EQ(out[0], last);
  std::vector<std::int32_t> memory;
  EXPECT_EQ(graph->ParamsOf(0, drawn, memory).data(), drawn.data()) << "nothing is copied";
}

// The chains with two nodes of other kinds in the middle of the list, and draws that differ in
// number by the image.
TEST(Graph, NodesDrawInTheOrderOfTheList) {
  const std::vector<Node> nodes{MakeNode("decode"), Resized(8), Flip(),
                                After(0, Flip()),   Crop(9),    After(2, Flip()),
                                After(4, Flip())};
  const Result<Graph> graph = Compile(nodes, {5, 6});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  // Crop of four words, then one, one, two, one, one.
  ASSERT_EQ(graph->param_words(), 10);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TorchGenerator rng(seed), stock(seed);
    std::vector<std::int32_t> drawn(10), expected(10);
    std::vector<TensorSpec> out(2);
    ASSERT_TRUE(graph->Draw(RgbSpec(30, 47), rng, drawn, out).ok());
    const auto draw = [&](std::size_t chain, int node, const TensorSpec& in, std::size_t at) {
      const OpSchema& schema = graph->chain(chain).schema(node);
      TensorSpec made;
      EXPECT_TRUE(
          schema
              .Draw(in, stock,
                    std::span(expected).subspan(at, static_cast<std::size_t>(schema.param_words())),
                    &made)
              .ok());
    };
    draw(0, 1, RgbSpec(30, 47), 0);
    draw(0, 2, RgbSpec(8, 8), 4);
    draw(1, 1, RgbSpec(30, 47), 5);
    draw(1, 2, RgbSpec(30, 47), 6);
    draw(0, 3, RgbSpec(8, 8), 8);
    draw(1, 3, RgbSpec(9, 9), 9);
    EXPECT_EQ(drawn, expected) << "seed " << seed;
    EXPECT_EQ(rng.draws(), stock.draws());
    EXPECT_THAT(out, ElementsAre(RgbSpec(8, 8), RgbSpec(9, 9)));
    std::vector<std::int32_t> memory;
    const Params first = graph->ParamsOf(0, drawn, memory);
    EXPECT_THAT(std::vector(first.begin(), first.end()),
                ElementsAre(drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[8]));
    const Params second = graph->ParamsOf(1, drawn, memory);
    EXPECT_THAT(std::vector(second.begin(), second.end()),
                ElementsAre(drawn[5], drawn[6], drawn[7], drawn[9]));
  }
}

TEST(Graph, ASharedNodeDrawsOnce) {
  const Result<Graph> graph =
      Compile({MakeNode("decode"), Crop(8), Flip(), After(1, Flip())}, {2, 3});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->param_words(), 4);
  TorchGenerator rng(1);
  std::vector<std::int32_t> drawn(4), memory, other;
  std::vector<TensorSpec> out(2);
  ASSERT_TRUE(graph->Draw(RgbSpec(30, 40), rng, drawn, out).ok());
  EXPECT_EQ(rng.draws(), 4U);
  const Params a = graph->ParamsOf(0, drawn, memory), b = graph->ParamsOf(1, drawn, other);
  EXPECT_EQ((std::vector{a[0], a[1]}), (std::vector{b[0], b[1]})) << "one crop for both";
}

TEST(Graph, TheCachePointFollowsWhatAllValuesShare) {
  const Node resize = MakeNode("resize", {{"size", std::int64_t{40}}});
  const auto prefix = [](const std::vector<Node>& nodes, Inputs values) {
    const Result<Graph> graph = Compile(nodes, std::move(values));
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    return graph->pure_prefix();
  };
  EXPECT_EQ(
      prefix({MakeNode("decode"), resize, CenterCrop(9), Flip(), After(1, CenterCrop(8))}, {3, 4}),
      2);
  EXPECT_EQ(prefix({MakeNode("decode"), resize, Flip(), After(0, resize)}, {2, 3}), 1);
  // A value in the middle of another one's chain ends the prefix.
  EXPECT_EQ(prefix({MakeNode("decode"), resize, CenterCrop(9)}, {2, 1}), 2);
  EXPECT_EQ(prefix({MakeNode("decode"), Flip(), resize, After(1, resize)}, {2, 3}), 1);
  const Graph views = *Compile({MakeNode("decode"), resize, Flip(), After(0, Flip())}, {2, 3});
  EXPECT_EQ(views.prefix_text(), Compile({MakeNode("decode")}, {})->prefix_text())
      << "what is kept serves every plan of these files";
}

TEST(Graph, AStackHasADimensionForItsParts) {
  const std::vector<Node> nodes{MakeNode("decode"),    CenterCrop(8),
                                MakeNode("to_tensor"), After(0, Crop(8)),
                                MakeNode("to_tensor"), Of({2, 4}, MakeNode("stack"))};
  const Result<Graph> graph = Compile(nodes, {5});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->chains(), 2U);
  const TensorSpec stacked{DType::kF32, Layout::kPlain, {2, 3, 8, 8}};
  EXPECT_THAT(ShapesOf(*graph, RgbSpec(20, 20)), ElementsAre(stacked));
  TorchGenerator rng(1);
  std::vector<std::int32_t> drawn(2);
  std::vector<TensorSpec> out(1);
  ASSERT_TRUE(graph->Draw(RgbSpec(20, 20), rng, drawn, out).ok());
  EXPECT_THAT(out, ElementsAre(stacked));

  std::vector<Node> uneven = nodes;
  uneven[3] = After(0, Crop(9));
  const Status status = Compile(uneven, {5})->Shapes(RgbSpec(20, 20), out, nullptr);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("different shapes are stacked"));
}

Node Mask() {
  return After(Node::kSource,
               MakeNode("decode", {{"mode", std::string("index")}, {"file", std::int64_t{1}}}));
}

Node Shared(std::int64_t of, Node node) {
  node.args["draws_of"] = of;
  return node;
}

TEST(Graph, EachPictureHasItsOwnCachePoint) {
  const Node resize = MakeNode("resize", {{"size", std::int64_t{40}}});
  const Node nearest =
      MakeNode("resize", {{"size", std::int64_t{40}}, {"interpolation", std::string("nearest")}});
  const Result<Graph> graph =
      Compile({MakeNode("decode"), Flip(), Mask(), nearest, Shared(1, Flip())}, {1, 4});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->files(), 2);
  ASSERT_EQ(graph->pictures().size(), 2U);
  EXPECT_EQ(graph->pictures()[1].node, 2);
  EXPECT_EQ(graph->pictures()[1].file, 1);
  EXPECT_EQ(graph->pure_prefix(0), 1);
  EXPECT_EQ(graph->pure_prefix(1), 2);
  const auto hash = [&](const Node& first, const Node& second) {
    return Compile({MakeNode("decode"), first, Mask(), second}, {1, 3})->prefix_text();
  };
  EXPECT_EQ(hash(resize, nearest), hash(resize, nearest));
  EXPECT_NE(hash(resize, nearest), hash(Flip(), nearest));
  EXPECT_NE(hash(resize, nearest), hash(resize, Flip()));
  const Node crop = CenterCrop(9);
  EXPECT_NE(hash(crop, nearest), hash(nearest, crop));
}

TEST(Graph, WhatCannotUseAnothersDrawsIsRefused) {
  const auto refused = [](const std::vector<Node>& nodes, Inputs values) {
    const Status status = Compile(nodes, std::move(values)).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    return status.message();
  };
  const auto gate = [](std::int64_t nodes) { return MakeNode("random_apply", {{"nodes", nodes}}); };
  EXPECT_TRUE(
      Compile({MakeNode("decode"), gate(1), Flip(), Mask(), Shared(1, gate(1)), Shared(2, Flip())},
              {2, 5})
          .ok());
  EXPECT_THAT(refused({MakeNode("decode"), Flip(), Shared(1, Flip())}, {}),
              HasSubstr("node 2 random_horizontal_flip: uses draws of its own chain"));
  EXPECT_THAT(refused({MakeNode("decode"), Flip(), Shared(1, Flip()), Mask()}, {2, 3}),
              HasSubstr("node 2 random_horizontal_flip: uses draws of its own chain"));
  // What a gate skips draws nothing.
  const char* governed = "uses draws that another gate governs";
  EXPECT_THAT(refused({MakeNode("decode"), gate(1), Flip(), Mask(), Shared(2, Flip())}, {2, 4}),
              HasSubstr(governed));
  EXPECT_THAT(
      refused({MakeNode("decode"), gate(1), Flip(), Mask(), gate(1), Shared(2, Flip())}, {2, 5}),
      HasSubstr(governed));
  EXPECT_THAT(refused({MakeNode("decode"), Flip(), gate(1), Flip(), Mask(), Shared(2, gate(1)),
                       Shared(1, Flip())},
                      {3, 6}),
              HasSubstr(governed));
  EXPECT_THAT(
      refused({MakeNode("decode"), gate(1), Flip(), Mask(), Shared(1, gate(1)), Flip()}, {2, 5}),
      HasSubstr("node 5 random_horizontal_flip: draws in a gate that does not"));
  // Parts are told apart, and inner gates from outer ones.
  const auto order = [](std::vector<std::int64_t> parts) {
    return MakeNode("random_order", {{"parts", std::move(parts)}});
  };
  const Node up = MakeNode("random_vertical_flip");
  EXPECT_TRUE(Compile({MakeNode("decode"), order({1, 1}), Flip(), up, Mask(),
                       Shared(1, order({1, 1})), Shared(2, Flip()), Shared(3, up)},
                      {3, 7})
                  .ok());
  EXPECT_THAT(refused({MakeNode("decode"), order({1, 1}), Flip(), up, Mask(),
                       Shared(1, order({1, 1})), Shared(3, up), Shared(2, Flip())},
                      {3, 7}),
              HasSubstr(governed));
  const Node to_tensor = MakeNode("pil_to_tensor");
  const auto with_tensor = [&](const Node& node) {
    return Compile({MakeNode("decode"), node, Mask(), to_tensor, Shared(1, node)}, {1, 4}).status();
  };
  const Node turn = MakeNode("random_rotation", {{"degrees", std::vector<double>{-9, 9}},
                                                 {"tensor_grids", std::int64_t{1}}});
  EXPECT_THAT(with_tensor(turn).message(), HasSubstr("uses draws for values of another kind"));
  EXPECT_TRUE(with_tensor(Flip()).ok()) << "a flip of an image is one of a tensor";
}

TEST(Graph, SqueezeDropsTheDimensionOfOneChannel) {
  const Node squeeze = MakeNode("squeeze");
  const Node to_int64 = MakeNode("to_dtype", {{"dtype", std::string("int64")}});
  const Result<Graph> graph = Compile(
      {MakeNode("decode"), Flip(), Mask(), MakeNode("pil_to_tensor"), to_int64, squeeze}, {1, 5});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const TensorSpec mask{DType::kI64, Layout::kPlain, {20, 30}};
  EXPECT_THAT(ShapesOf(*graph, RgbSpec(20, 30)), ElementsAre(RgbSpec(20, 30), mask));
  std::vector<std::int32_t> words(1);
  std::vector<TensorSpec> out(2);
  TorchGenerator rng(1);
  ASSERT_TRUE(graph->Draw(RgbSpec(20, 30), rng, words, out).ok());
  EXPECT_EQ(out[1], mask);
  const auto refused = [](std::vector<Node> nodes, Inputs values) {
    return Compile(std::move(nodes), std::move(values)).status().code();
  };
  EXPECT_EQ(refused({MakeNode("decode"), MakeNode("pil_to_tensor"), squeeze}, {}),
            Code::kUnsupported)
      << "three channels";
  EXPECT_EQ(refused({MakeNode("decode", {{"mode", std::string("L")}}), squeeze}, {}),
            Code::kUnsupported)
      << "no tensor";
  const Node gray = MakeNode("decode", {{"mode", std::string("L")}});
  const Result<Graph> alone = Compile({gray, MakeNode("to_tensor"), squeeze}, {});
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  EXPECT_EQ(alone->tail(), 0) << "a finisher does not know the shape";
  EXPECT_EQ(refused({gray, MakeNode("pil_to_tensor"), squeeze, Flip()}, {}), Code::kUnsupported);
  EXPECT_EQ(refused({gray, MakeNode("pil_to_tensor"), After(0, MakeNode("pil_to_tensor")),
                     Of({1, 2}, squeeze)},
                    {}),
            Code::kUnsupported);
}

TEST(Graph, APictureOfAnotherSizeIsNotMadeFromAnothersDraws) {
  const auto drawn = [](Node of_mask) {
    const Result<Graph> graph = Compile(
        {MakeNode("decode"), Resized(8), Flip(), Mask(), std::move(of_mask), Shared(2, Flip())},
        {2, 5});
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    std::vector<std::int32_t> words(static_cast<std::size_t>(graph->param_words()));
    std::vector<TensorSpec> out(2);
    TorchGenerator rng(1);
    return graph->Draw(RgbSpec(30, 40), rng, words, out);
  };
  EXPECT_TRUE(drawn(CenterCrop(8)).ok());
  const Status status = drawn(CenterCrop(9));
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("node 5 random_horizontal_flip"));
}

TEST(Graph, FilesOutOfPlaceAreRefused) {
  const auto decode = [](std::int64_t file) { return MakeNode("decode", {{"file", file}}); };
  EXPECT_EQ(Compile({decode(1)}, {}).status().code(), Code::kInvalidArgument);
  for (const std::int64_t file : {-1, 16}) {
    EXPECT_EQ(
        Compile({MakeNode("decode"), After(Node::kSource, decode(file))}, {0, 1}).status().code(),
        Code::kInvalidArgument);
  }
  EXPECT_EQ(Compile({MakeNode("decode"), After(Node::kSource, decode(15))}, {0, 1})->files(), 16);
  std::vector<Node> nodes{MakeNode("decode")};
  Inputs values{0};
  for (std::int32_t i = 1; i < 17; ++i) {
    nodes.push_back(After(Node::kSource, decode(1)));
    values.push_back(i);
    const Status status = Compile(nodes, values).status();
    EXPECT_EQ(status.code(), i < 16 ? Code::kOk : Code::kUnsupported) << i + 1 << " pictures";
  }
  EXPECT_EQ(
      Compile({MakeNode("decode"), After(Node::kSource, MakeNode("from_array", Rgb()))}, {0, 1})
          .status()
          .code(),
      Code::kUnsupported);
}

// Each chain is compiled by itself, and a small message can name very many.
TEST(Graph, APlanThatIsTooLargeIsRefusedAtOnce) {
  const std::vector<Node> many(Graph::kMostNodes + 1, MakeNode("decode"));
  EXPECT_THAT(Compile(many, {}).status().message(), HasSubstr("257 nodes"));
  const std::vector<Node> wide{MakeNode("decode"),
                               Of(Inputs(Graph::kMostChains + 1, 0), MakeNode("stack"))};
  EXPECT_THAT(Compile(wide, {1}).status().message(), HasSubstr("more than 256 chains"));
  const Inputs values(Graph::kMostChains + 1, 0);
  EXPECT_THAT(Compile({MakeNode("decode")}, values).status().message(),
              HasSubstr("more than 256 chains"));
}

TEST(Graph, WhatIsNoGraphIsRefused) {
  const auto refused = [](const std::vector<Node>& nodes, Inputs values) {
    return Compile(nodes, std::move(values)).status();
  };
  const std::vector<Node> two{MakeNode("decode"), Flip(), After(0, Flip())};
  EXPECT_EQ(refused(two, {2}),
            InvalidArgument("node 1 random_horizontal_flip: no field is made of its value"));
  EXPECT_THAT(refused(two, {1, 3}).message(), HasSubstr("node 3"));
  EXPECT_THAT(refused({MakeNode("decode"), After(1, Flip())}, {}).message(),
              HasSubstr("not before it"));
  EXPECT_EQ(refused({MakeNode("decode"), Flip(), Of({0, 1}, Flip())}, {}),
            Unsupported("node 2 random_horizontal_flip: takes several values"));
  // A stack is no image.
  EXPECT_THAT(
      refused({MakeNode("decode"), Flip(), Of({0, 1}, MakeNode("stack")), Flip()}, {}).message(),
      HasSubstr("takes several values"));
  EXPECT_EQ(refused({MakeNode("stack")}, {}).code(), Code::kUnsupported);
  EXPECT_EQ(refused({}, {}).code(), Code::kUnsupported);
  // Another branch begins at a gate, or among the nodes that it governs.
  const Node gate = MakeNode("random_apply", {{"nodes", std::int64_t{2}}});
  for (const std::int32_t at : {1, 2}) {
    EXPECT_THAT(
        refused({MakeNode("decode"), gate, Flip(), Flip(), After(at, Flip())}, {3, 4}).message(),
        HasSubstr("node 1 random_apply: nodes that it governs do not follow it"));
  }
  EXPECT_THAT(refused({MakeNode("decode"), gate, Flip(), Flip()}, {2, 3}).message(),
              HasSubstr("do not follow it"));
  EXPECT_TRUE(
      Compile({MakeNode("decode"), gate, Flip(), Flip(), Flip(), After(3, Flip())}, {4, 5}).ok());
  // Messages name the node of the plan.
  EXPECT_THAT(refused({MakeNode("decode"), Flip(), After(0, MakeNode("swirl"))}, {1, 2}).message(),
              HasSubstr("node 2 swirl: no native operator"));
}

}  // namespace
}  // namespace headrace::ops::testing
