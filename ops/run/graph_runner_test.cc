#include "ops/run/graph_runner.h"

#include <png.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/test_draws.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/jpeg/jpeg_test_util.h"

// Graphs make of a sample what each of their values alone would be.
namespace headrace::ops::testing {
namespace {

using test_draws::Between;
using test_draws::Random;
using test_draws::SeedOr;

using ::testing::HasSubstr;

std::vector<std::uint8_t> Noise(Random& random, const TensorSpec& spec) {
  std::vector<std::uint8_t> pixels(spec.bytes());
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());
  return pixels;
}

Bytes PngOf(const std::vector<std::uint8_t>& pixels, const TensorSpec& spec) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.width = static_cast<png_uint_32>(spec.dims[1]);
  info.height = static_cast<png_uint_32>(spec.dims[0]);
  info.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&info, nullptr, &size, 0, pixels.data(), 0, nullptr);
  Bytes file(size);
  HR_CHECK(png_image_write_to_memory(&info, file.data(), &size, 0, pixels.data(), 0, nullptr));
  file.resize(size);
  return file;
}

// An operator on images of any size that makes an image.
Node RandomNode(Random& random) {
  const Args size{
      {"size", std::vector<std::int64_t>{Between(random, 1, 40), Between(random, 1, 40)}}};
  switch (Between(random, 0, 9)) {
    case 0:
      return MakeNode("resize", size);
    case 1:
    case 2:
      return MakeNode("random_resized_crop", size);
    case 3:
      return MakeNode("center_crop", size);
    case 4: {
      Args args = size;
      args["pad_if_needed"] = std::int64_t{1};
      args["padding"] = Between(random, 0, 5);
      return MakeNode("random_crop", args);
    }
    case 5:
      return MakeNode("random_horizontal_flip");
    case 6:
      return MakeNode("pad", {{"padding", Between(random, 0, 5)}});
    case 7:
      return MakeNode("color_jitter", {{"brightness", 0.5}, {"contrast", 0.5}});
    case 8:
      return MakeNode("grayscale", {{"num_output_channels", std::int64_t{3}}});
    default: {
      Args args = AugmentArgs(1);
      args["num_ops"] = std::int64_t{2};
      return MakeNode("rand_augment", args);
    }
  }
}

struct Drawn {
  std::vector<Node> nodes;
  std::vector<std::int32_t> values;
};

// Adds the crops of an image of the graph, and their stack.
void AddStackOfCrops(Random& random, std::int32_t image, Drawn& drawn) {
  const std::int64_t size = Between(random, 1, 6);
  const char* end = Between(random, 0, 1) == 0 ? "to_tensor" : "pil_to_tensor";
  Node stack = MakeNode("stack");
  for (std::int64_t part = 0; part < 5; ++part) {
    Node crop = MakeNode("five_crop", {{"size", size}, {"part", part}});
    if (image != static_cast<std::int32_t>(drawn.nodes.size()) - 1) crop.inputs = {image};
    drawn.nodes.push_back(std::move(crop));
    drawn.nodes.push_back(MakeNode(end));
    stack.inputs.push_back(static_cast<std::int32_t>(drawn.nodes.size()) - 1);
  }
  drawn.values.push_back(static_cast<std::int32_t>(drawn.nodes.size()));
  drawn.nodes.push_back(std::move(stack));
}

// A tree of operators; some of its values are wanted, and all of its leaves.
Drawn RandomGraph(Random& random, const Node& source) {
  Drawn drawn{{source}, {}};
  const std::int64_t images = Between(random, 2, 8);
  std::vector<bool> taken(1);
  while (std::ssize(drawn.nodes) < images) {
    Node node = RandomNode(random);
    const std::int64_t last = std::ssize(drawn.nodes) - 1;
    const std::int64_t input = Between(random, 0, 2) == 0 ? Between(random, 0, last) : last;
    if (input != last) node.inputs = {static_cast<std::int32_t>(input)};
    taken[static_cast<std::size_t>(input)] = true;
    taken.push_back(false);
    drawn.nodes.push_back(std::move(node));
  }
  for (std::int32_t i = static_cast<std::int32_t>(images) - 1; i >= 0; --i) {
    if (taken[static_cast<std::size_t>(i)] && Between(random, 0, 3) > 0) continue;
    Node end = MakeNode(Between(random, 0, 1) == 0 ? "to_tensor" : "pil_to_tensor");
    if (i != static_cast<std::int32_t>(drawn.nodes.size()) - 1) end.inputs = {i};
    drawn.values.push_back(static_cast<std::int32_t>(drawn.nodes.size()));
    drawn.nodes.push_back(std::move(end));
  }
  if (Between(random, 0, 3) == 0) {
    const std::int64_t image = Between(random, 0, images - 1);
    AddStackOfCrops(random, static_cast<std::int32_t>(image), drawn);
  }
  return drawn;
}

// The nodes of one value, and the place of each in the graph.
std::vector<std::int32_t> PathTo(const std::vector<Node>& nodes, std::int32_t value) {
  std::vector<std::int32_t> path;
  for (std::int32_t node = value; node >= 0;) {
    path.insert(path.begin(), node);
    const auto& inputs = nodes[static_cast<std::size_t>(node)].inputs;
    node = inputs.empty() ? node - 1 : inputs[0];
  }
  return path;
}

// The nodes whose values make one value: those that a stack joins, or its own.
std::vector<std::int32_t> EndsOf(const Drawn& graph, std::int32_t value) {
  const Node& node = graph.nodes[static_cast<std::size_t>(value)];
  return node.op == "stack" ? node.inputs : std::vector{value};
}

class GraphRunnerTest : public ::testing::Test {
 protected:
  // Draws node by node, and runs each value as a chain of its own. False: the framework would raise.
  bool Evaluate(const Drawn& graph, const TensorSpec& in, ByteSpan file, bool pixels,
                std::uint64_t seed) {
    TorchGenerator rng(seed);
    std::vector<std::vector<std::int32_t>> words(graph.nodes.size());
    std::vector<TensorSpec> after(graph.nodes.size());
    std::vector<Chain> chains;
    std::vector<std::int32_t> ends;
    for (const std::int32_t value : graph.values) {
      for (const std::int32_t end : EndsOf(graph, value)) ends.push_back(end);
    }
    for (const std::int32_t end : ends) {
      std::vector<Node> straight;
      for (const std::int32_t number : PathTo(graph.nodes, end)) {
        straight.push_back(graph.nodes[static_cast<std::size_t>(number)]);
      }
      Result<Chain> chain = Chain::Compile(std::move(straight), Libraries(), constants_, &torch_);
      HR_CHECK(chain.ok());
      chains.push_back(std::move(chain).value());
    }
    for (std::int32_t i = 0; i < std::ssize(graph.nodes); ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (std::size_t v = 0; v < chains.size(); ++v) {
        const std::vector<std::int32_t> path = PathTo(graph.nodes, ends[v]);
        const auto place = std::ranges::find(path, i) - path.begin();
        if (place == std::ssize(path)) continue;
        const OpSchema& schema = chains[v].schema(static_cast<int>(place));
        words[at].resize(static_cast<std::size_t>(schema.param_words()));
        const TensorSpec before =
            place == 0 ? in
                       : after[static_cast<std::size_t>(path[static_cast<std::size_t>(place - 1)])];
        if (!schema.Draw(before, rng, words[at], &after[at]).ok()) return false;
        break;
      }
    }
    record_.clear();
    for (const auto& of_node : words) record_.insert(record_.end(), of_node.begin(), of_node.end());
    draws_ = rng.draws();
    std::vector<Bytes> parts;
    for (std::size_t v = 0; v < chains.size(); ++v) {
      std::vector<std::int32_t> own;
      for (const std::int32_t number : PathTo(graph.nodes, ends[v])) {
        const auto& of_node = words[static_cast<std::size_t>(number)];
        own.insert(own.end(), of_node.begin(), of_node.end());
      }
      const auto runner = ChainRunner::Make(std::make_shared<const Chain>(chains[v]));
      Bytes& out = parts.emplace_back(after[static_cast<std::size_t>(ends[v])].bytes());
      const Status status = pixels ? runner->RunPixels(file, in, own, context_, out)
                                   : runner->Run(file, own, context_, out);
      HR_CHECK(status.ok());
    }
    expected_.clear();
    auto part = parts.begin();
    for (const std::int32_t value : graph.values) {
      Bytes& joined = expected_.emplace_back();
      for (std::size_t n = EndsOf(graph, value).size(); n > 0; --n, ++part) {
        joined.insert(joined.end(), part->begin(), part->end());
      }
    }
    return true;
  }
  void Compile(const Drawn& drawn) {
    Result<Graph> graph =
        Graph::Compile(drawn.nodes, drawn.values, Libraries(), constants_, &torch_);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    Result<GraphRunner> runner =
        GraphRunner::Make(std::make_shared<const Graph>(std::move(graph).value()));
    ASSERT_TRUE(runner.ok()) << runner.status().ToString();
    runner_.emplace(std::move(runner).value());
  }
  // Memory for the values of a source.
  void Make(const TensorSpec& in) {
    std::vector<TensorSpec> values(runner_->graph().values().size());
    ASSERT_TRUE(runner_->graph().Shapes(in, values, nullptr).ok());
    made_.clear();
    outs_.clear();
    for (const TensorSpec& value : values) made_.emplace_back(value.bytes());
    for (Bytes& value : made_) outs_.emplace_back(value);
  }

  const EvenTorch torch_;
  const Bytes table_ = PlainExpTable(
      {MakeNode("decode"), MakeNode("random_resized_crop", {{"size", std::int64_t{8}}})});
  const Constants constants_{{"torch_exp", table_}};
  OpContext context_;
  std::optional<GraphRunner> runner_;
  std::vector<std::int32_t> record_;
  std::uint64_t draws_ = 0;
  std::vector<Bytes> expected_, made_;
  std::vector<MutableByteSpan> outs_;
};

TEST_F(GraphRunnerTest, RandomGraphsEqualTheirValuesOneByOne) {
  int compared = 0, views = 0, cached = 0, stacks = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Random random(SeedOr(4711) + round);
    const bool pixels = Between(random, 0, 3) == 0;
    const Drawn drawn =
        RandomGraph(random, pixels ? MakeNode("from_array", {{"mode", std::string("RGB")}})
                                   : MakeNode("decode"));
    std::string text = "HEADRACE_TEST_SEED=" + std::to_string(SeedOr(4711) + round) + ":";
    for (const Node& node : drawn.nodes) {
      text += ' ' + node.op;
      if (!node.inputs.empty()) text += '<' + std::to_string(node.inputs[0]);
    }
    SCOPED_TRACE(text);
    // Of a JPEG file only the window that is wanted is decoded, and nothing else is in memory.
    const bool photograph = !pixels && Between(random, 0, 1) == 0;
    const std::int64_t most = photograph ? 250 : 60;
    const TensorSpec image = RgbSpec(Between(random, 1, most), Between(random, 1, most));
    const TensorSpec in = pixels ? RowOf(image) : image;
    const std::vector<std::uint8_t> noise = Noise(random, image);
    Bytes file = pixels ? CopyBytes(std::as_bytes(std::span(noise))) : PngOf(noise, image);
    if (photograph) {
      file = CopyBytes(AsBytes(
          EncodeJpeg(static_cast<int>(image.dims[1]), static_cast<int>(image.dims[0]), {})));
    }
    const std::uint64_t seed = random();
    ASSERT_NO_FATAL_FAILURE(Compile(drawn));
    if (!Evaluate(drawn, in, file, pixels, seed)) continue;

    const Graph& graph = runner_->graph();
    TorchGenerator rng(seed);
    std::vector<std::int32_t> params(static_cast<std::size_t>(graph.param_words()));
    std::vector<TensorSpec> values(graph.values().size());
    ASSERT_TRUE(graph.Draw(in, rng, params, values).ok());
    ASSERT_EQ(params, record_);
    ASSERT_EQ(rng.draws(), draws_);
    ASSERT_NO_FATAL_FAILURE(Make(in));
    if (pixels) {
      ASSERT_TRUE(runner_->RunPixels(file, in, params, context_, outs_).ok());
      ASSERT_EQ(made_, expected_);
    } else {
      const Status status = runner_->Run(file, params, context_, outs_);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(made_, expected_);
      Bytes payload;
      ASSERT_TRUE(runner_->RunPrefix(file, context_, &payload).ok());
      ASSERT_NO_FATAL_FAILURE(Make(in));
      ASSERT_TRUE(runner_->RunFromPrefix(payload, params, context_, outs_).ok());
      ASSERT_EQ(made_, expected_);
      cached += graph.pure_prefix() > 1 ? 1 : 0;
    }
    ++compared;
    views += graph.chains() > 1 ? 1 : 0;
    stacks += drawn.nodes.back().op == "stack" ? 1 : 0;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(views, 150);
  EXPECT_GT(cached, 20);
  EXPECT_GT(stacks, 40);
}

TEST_F(GraphRunnerTest, PartsOfAStackLieOneAfterTheOther) {
  const Node crop = MakeNode("center_crop", {{"size", std::int64_t{2}}});
  const Node top = MakeNode("random_crop", {{"size", std::int64_t{2}}});
  Drawn drawn{{MakeNode("decode"), crop, MakeNode("pil_to_tensor"), top, MakeNode("pil_to_tensor"),
               MakeNode("stack")},
              {5, 2}};
  drawn.nodes[3].inputs = {0};
  drawn.nodes[5].inputs = {4, 2};
  Random random(SeedOr(4711));
  const TensorSpec image = RgbSpec(10, 12);
  const std::vector<std::uint8_t> noise = Noise(random, image);
  ASSERT_NO_FATAL_FAILURE(Compile(drawn));
  ASSERT_NO_FATAL_FAILURE(Make(image));
  ASSERT_TRUE(
      runner_->Run(PngOf(noise, image), std::vector<std::int32_t>{0, 0}, context_, outs_).ok());
  ASSERT_EQ(made_[0].size(), 24U);
  EXPECT_EQ(static_cast<std::uint8_t>(made_[0][0]), noise[0]);
  EXPECT_EQ(Bytes(made_[0].begin() + 12, made_[0].end()), made_[1]);
}

TEST_F(GraphRunnerTest, ParamsOfAnotherPlanAreRefused) {
  Drawn drawn{{MakeNode("decode"), MakeNode("pil_to_tensor"), MakeNode("random_horizontal_flip"),
               MakeNode("pil_to_tensor")},
              {1, 3}};
  drawn.nodes[2].inputs = {0};
  Random random(SeedOr(4711));
  const TensorSpec image = RgbSpec(4, 4);
  const Bytes file = PngOf(Noise(random, image), image);
  ASSERT_NO_FATAL_FAILURE(Compile(drawn));
  ASSERT_NO_FATAL_FAILURE(Make(image));
  EXPECT_TRUE(runner_->Run(file, std::vector<std::int32_t>{1}, context_, outs_).ok());
  const Status status = runner_->Run(file, std::vector<std::int32_t>{1, 1}, context_, outs_);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("1 parameter words, not 2"));
  EXPECT_FALSE(
      runner_->Run(ByteSpan(file).first(40), std::vector<std::int32_t>{1}, context_, outs_).ok());
}

}  // namespace
}  // namespace headrace::ops::testing
