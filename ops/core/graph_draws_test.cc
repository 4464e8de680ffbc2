#include "ops/core/graph_draws.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node AfterNode(std::int32_t input, Node node) {
  node.inputs = {input};
  return node;
}
Node CropTo(std::int64_t size) { return MakeNode("random_crop", {{"size", size}}); }
const Node kMirror = MakeNode("random_horizontal_flip");

TEST(GraphDraws, EachNodesWordsHaveAPlace) {
  const std::vector<Node> nodes{
      MakeNode("decode"),    CropTo(8), kMirror,
      AfterNode(0, kMirror), CropTo(9), AfterNode(2, MakeNode("to_tensor")),
      AfterNode(4, kMirror)};
  const Result<Graph> graph = Graph::Compile(nodes, {5, 6}, Libraries(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(WordPlaces(*graph, nodes.size()), ElementsAre(-1, 0, 2, 3, 4, -1, 6));
}

TEST(GraphDraws, AListMayHaveADrawnSize) {
  const Node resize =
      MakeNode("random_resize", {{"min_size", std::int64_t{8}}, {"max_size", std::int64_t{20}}});
  const std::vector<Node> nodes{MakeNode("decode"), resize, kMirror, MakeNode("to_tensor"),
                                AfterNode(0, CropTo(9))};
  const auto compile = [&](std::vector<std::int32_t> lists) {
    return Graph::Compile(nodes, {3, 4}, Libraries(), {}, nullptr, lists);
  };
  EXPECT_THAT(compile({}).status().message(), HasSubstr("depends on what is drawn"));
  EXPECT_FALSE(compile({4}).ok());
  const Result<Graph> graph = compile({3});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_TRUE(DrawsSizes(*graph));
  TorchGenerator rng(5);
  std::vector<std::int32_t> drawn(4);
  std::vector<TensorSpec> values(2), drawn_values(2), shapes = std::vector<TensorSpec>(2);
  ASSERT_TRUE(graph->Shapes(RgbSpec(30, 47), shapes, nullptr).ok());
  EXPECT_FALSE(shapes[0].known());
  EXPECT_EQ(shapes[1], RgbSpec(9, 9));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(graph->Draw(RgbSpec(30, 47), rng, drawn, values).ok());
    drawn_values = shapes;
    ASSERT_TRUE(DrawnValues(*graph, RgbSpec(30, 47), drawn, drawn_values).ok());
    EXPECT_EQ(drawn_values, values);
    EXPECT_EQ(values[0].dims[1], drawn[0]);
  }
  drawn[0] = 21;  // which a peer may say
  EXPECT_EQ(DrawnValues(*graph, RgbSpec(30, 47), drawn, drawn_values).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops::testing
