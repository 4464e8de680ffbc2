// Graphs of several pictures: an image and its mask.
#include <png.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file_group.h"
#include "base/test_draws.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/graph_runner.h"
#include "ops/run/run_plan.h"
#include "ops/run/test_util.h"
#include "ops/vision/jpeg/jpeg_test_util.h"

namespace headrace::ops::testing {
namespace {

using test_draws::Between;
using test_draws::Random;
using test_draws::SeedOr;

using ::testing::HasSubstr;

Bytes NoisePng(Random& random, std::int64_t height, std::int64_t width, bool gray) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height * width * (gray ? 1 : 3)));
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.width = static_cast<png_uint_32>(width);
  info.height = static_cast<png_uint_32>(height);
  info.format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&info, nullptr, &size, 0, pixels.data(), 0, nullptr);
  Bytes file(size);
  HR_CHECK(png_image_write_to_memory(&info, file.data(), &size, 0, pixels.data(), 0, nullptr));
  file.resize(size);
  return file;
}

Bytes GroupOf(const std::vector<Bytes>& files) {
  std::vector<std::size_t> sizes;
  for (const Bytes& file : files) sizes.push_back(file.size());
  Bytes group(FileGroup::BytesOf(sizes));
  const std::vector<MutableByteSpan> places = FileGroup::Lay(sizes, group);
  for (std::size_t i = 0; i < files.size(); ++i) std::ranges::copy(files[i], places[i].begin());
  return group;
}

Node MaskDecode(std::int64_t file = 1) {
  Node node = MakeNode("decode", {{"mode", std::string("index")}, {"file", file}});
  node.inputs = {Node::kSource};
  return node;
}

// What an image's nodes and its mask's draw together.
struct Step {
  std::vector<Node> image, mask;  // a gate with the nodes that it governs, or one node
};

Step Geometric(Random& random, bool keeps_shape) {
  const auto both = [](const char* op, Args args, const Args& of_image, const Args& of_mask) {
    Args image = args, mask = std::move(args);
    image.insert(of_image.begin(), of_image.end());
    mask.insert(of_mask.begin(), of_mask.end());
    return Step{{MakeNode(op, image)}, {MakeNode(op, mask)}};
  };
  const Args smooth{{"interpolation", std::string("bilinear")}, {"fill", std::int64_t{7}}};
  const Args nearest{{"interpolation", std::string("nearest")}, {"fill", std::int64_t{255}}};
  switch (Between(random, keeps_shape ? 2 : 0, keeps_shape ? 6 : 7)) {
    case 0:
      return both("random_resized_crop",
                  {{"size", std::vector<std::int64_t>{Between(random, 1, 30), 17}}}, {},
                  {{"interpolation", std::string("nearest")}});
    case 1:
      return both("random_crop",
                  {{"size", Between(random, 1, 40)},
                   {"pad_if_needed", std::int64_t{1}},
                   {"api", Between(random, 1, 2)}},
                  {}, {{"fill", std::int64_t{255}}});
    case 2:
      return both("random_horizontal_flip", {{"p", 0.5}}, {}, {});
    case 3:
      return both("random_vertical_flip", {{"p", 0.5}}, {}, {});
    case 4:
      return both("random_rotation", {{"degrees", std::vector<double>{-50, 50}}}, smooth, nearest);
    case 5:
      return both("random_affine",
                  {{"degrees", std::vector<double>{-20, 20}},
                   {"translate", std::vector<double>{0.2, 0.1}},
                   {"scale", std::vector<double>{0.7, 1.4}}},
                  smooth, nearest);
    case 7: {
      Step step =
          both("random_resize", {{"min_size", std::int64_t{10}}, {"max_size", std::int64_t{40}}},
               {}, {{"interpolation", std::string("nearest")}});
      const Step crop = both("random_crop",
                             {{"size", Between(random, 1, 40)}, {"pad_if_needed", std::int64_t{1}}},
                             {}, {{"fill", std::int64_t{255}}});
      step.image.push_back(crop.image[0]);
      step.mask.push_back(crop.mask[0]);
      return step;
    }
    default:
      return both("random_perspective", {{"p", 0.5}}, smooth, nearest);
  }
}

// Names, in the mask's nodes, the image's nodes of the same operators, in order.
void Share(Step& step, std::int32_t first) {
  std::size_t at = 0;
  for (Node& node : step.mask) {
    while (step.image[at].op != node.op) ++at;
    node.args["draws_of"] = std::int64_t{first} + static_cast<std::int64_t>(at++);
  }
}

Step AnyStep(Random& random) {
  if (Between(random, 0, 3) > 0) return Geometric(random, false);
  const bool also_colors = Between(random, 0, 1) == 1;
  Step inner = Geometric(random, true);
  if (also_colors) {
    inner.image.insert(inner.image.begin(), MakeNode("color_jitter", {{"brightness", 0.5}}));
  }
  const auto gate = [](const std::vector<Node>& nodes) {
    return MakeNode("random_apply", {{"p", 0.5}, {"nodes", std::ssize(nodes)}});
  };
  inner.image.insert(inner.image.begin(), gate(inner.image));
  inner.mask.insert(inner.mask.begin(), gate(inner.mask));
  return inner;
}

struct Pair {
  std::vector<Node> nodes;
  std::vector<std::int32_t> values;
  std::vector<Node> image, mask;       // the straight chains
  std::vector<std::int32_t> draws_of;  // of the mask's nodes, in the image's chain; -1: none
};

// Steps on both pictures, one picture after the other or step by step.
Pair RandomPair(Random& random) {
  Pair pair;
  const bool by_steps = Between(random, 0, 1) == 0;
  std::vector<Step> steps;
  for (std::int64_t n = Between(random, 1, 4); n > 0; --n) steps.push_back(AnyStep(random));
  if (Between(random, 0, 2) == 0) {  // pure nodes before all draws
    const Args size{{"size", std::vector<std::int64_t>{Between(random, 5, 40), 31}}};
    Args of_mask = size;
    of_mask["interpolation"] = std::string("nearest");
    steps.insert(steps.begin(), Step{{MakeNode("resize", size)}, {MakeNode("resize", of_mask)}});
  }
  steps.push_back({{MakeNode("to_tensor")}, {MakeNode("pil_to_tensor")}});

  std::vector<std::int32_t> numbers;  // in the graph, of the image's nodes
  std::int32_t last_image = -1, last_mask = -1;
  const auto add = [&](Node node, std::int32_t* last) {
    const auto number = static_cast<std::int32_t>(pair.nodes.size());
    if (*last >= 0 && *last != number - 1) node.inputs = {*last};
    pair.nodes.push_back(std::move(node));
    *last = number;
  };
  const auto add_image = [&](const Step& step) {
    for (const Node& node : step.image) {
      pair.image.push_back(node);
      add(node, &last_image);
      numbers.push_back(last_image);
    }
  };
  const auto add_mask = [&](const Step& step, std::size_t at) {
    Step named = step;
    const bool draws = step.image[0].op.starts_with("random");
    if (draws) Share(named, 0);
    for (std::size_t i = 0; i < step.mask.size(); ++i) {
      pair.mask.push_back(step.mask[i]);
      pair.draws_of.push_back(-1);
      if (draws) {
        const std::size_t of =
            at + static_cast<std::size_t>(std::get<std::int64_t>(named.mask[i].args["draws_of"]));
        pair.draws_of.back() = static_cast<std::int32_t>(of);
        named.mask[i].args["draws_of"] = std::int64_t{numbers[of]};
      }
      add(named.mask[i], &last_mask);
    }
  };
  add_image({{MakeNode("decode")}, {}});
  const auto begin_mask = [&] {
    pair.mask.push_back(MaskDecode());
    pair.draws_of.push_back(-1);
    last_mask = static_cast<std::int32_t>(pair.nodes.size());
    pair.nodes.push_back(MaskDecode());
  };
  if (by_steps) begin_mask();
  std::vector<std::size_t> starts;
  for (const Step& step : steps) {
    starts.push_back(pair.image.size());
    add_image(step);
    if (by_steps) add_mask(step, starts.back());
  }
  if (!by_steps) {
    begin_mask();
    for (std::size_t i = 0; i < steps.size(); ++i) add_mask(steps[i], starts[i]);
  }
  pair.values = {last_image, last_mask};
  return pair;
}

class PicturesTest : public ::testing::Test {
 protected:
  void Compile(const std::vector<Node>& nodes, const std::vector<std::int32_t>& values) {
    Result<Graph> graph = Graph::Compile(nodes, values, Libraries(), constants_, &torch_);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    Result<GraphRunner> runner =
        GraphRunner::Make(std::make_shared<const Graph>(std::move(graph).value()));
    ASSERT_TRUE(runner.ok()) << runner.status().ToString();
    runner_.emplace(std::move(runner).value());
  }
  // Memory for values of these specs.
  void Allocate(const std::vector<TensorSpec>& values) {
    made_.clear();
    outs_.clear();
    for (const TensorSpec& value : values) made_.emplace_back(value.bytes());
    for (Bytes& value : made_) outs_.emplace_back(value);
  }
  // Draws the image's chain, copies its draws to the mask's, and runs each alone. False: the
  // framework would raise, or the trainer must make the sample.
  bool Evaluate(const Pair& pair, const Bytes& image, const Bytes& mask, const TensorSpec& in,
                std::uint64_t seed) {
    std::vector<Node> mask_nodes = pair.mask;
    mask_nodes[0].inputs.clear();
    const auto chain_of = [&](std::vector<Node> nodes) {
      Result<Chain> chain = Chain::Compile(std::move(nodes), Libraries(), constants_, &torch_);
      HR_CHECK(chain.ok());
      return std::make_shared<const Chain>(std::move(chain).value());
    };
    const auto image_chain = chain_of(pair.image), mask_chain = chain_of(mask_nodes);
    TorchGenerator rng(seed);
    record_.assign(static_cast<std::size_t>(image_chain->param_words()), 0);
    TensorSpec out;
    if (!image_chain->Draw(in, rng, record_, &out).ok()) return false;
    draws_ = rng.draws();
    std::vector<std::int32_t> own;
    for (std::size_t i = 0; i < pair.draws_of.size(); ++i) {
      if (pair.draws_of[i] < 0) continue;
      const Params words = ParamsOf(*image_chain, pair.draws_of[i], record_);
      own.insert(own.end(), words.begin(), words.end());
    }
    expected_.clear();
    const auto run = [&](const auto& chain, const Bytes& file, Params params) {
      const Result<ChainRunner> runner = ChainRunner::Make(chain);
      HR_CHECK(runner.ok());
      Bytes made(runner->OutputSpec(in)->bytes());
      const Status status = runner->Run(file, params, context_, made);
      expected_.push_back(std::move(made));
      return status.ok();
    };
    return run(image_chain, image, record_) && run(mask_chain, mask, own);
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

TEST_F(PicturesTest, AMaskIsMadeAsItsImageFromTheImagesDraws) {
  int compared = 0, cached = 0, gates = 0;
  for (unsigned round = 0; round < 300; ++round) {
    Random random(SeedOr(4711) + round);
    const Pair pair = RandomPair(random);
    std::string text = "HEADRACE_TEST_SEED=" + std::to_string(SeedOr(4711) + round) + ":";
    for (const Node& node : pair.nodes) text += ' ' + node.op;
    SCOPED_TRACE(text);
    const std::int64_t height = Between(random, 1, 60), width = Between(random, 1, 60);
    const bool photograph = Between(random, 0, 1) == 0;
    const Bytes image =
        photograph
            ? CopyBytes(AsBytes(EncodeJpeg(static_cast<int>(width), static_cast<int>(height), {})))
            : NoisePng(random, height, width, /*gray=*/false);
    const Bytes mask = NoisePng(random, height, width, /*gray=*/true);
    const Bytes group = GroupOf({image, mask});
    const std::uint64_t seed = random();
    ASSERT_NO_FATAL_FAILURE(Compile(pair.nodes, pair.values));
    const Graph& graph = runner_->graph();
    ASSERT_EQ(graph.files(), 2);
    ASSERT_EQ(graph.pictures().size(), 2U);
    const Result<TensorSpec> in = runner_->ReadSource(group);
    ASSERT_TRUE(in.ok()) << in.status().ToString();
    ASSERT_EQ(*in, RgbSpec(height, width));
    if (!Evaluate(pair, image, mask, *in, seed)) continue;

    TorchGenerator rng(seed);
    std::vector<std::int32_t> params(static_cast<std::size_t>(graph.param_words()));
    std::vector<TensorSpec> values(2), inferred(2), prefixes;
    ASSERT_TRUE(graph.Draw(*in, rng, params, values).ok());
    ASSERT_EQ(params, record_) << "the mask has no words of its own";
    ASSERT_EQ(rng.draws(), draws_);
    ASSERT_TRUE(graph.Shapes(*in, inferred, &prefixes).ok());
    ASSERT_EQ(values, inferred);
    ASSERT_EQ(prefixes.size(), 2U);
    Allocate(values);
    const Status status = runner_->Run(group, params, context_, outs_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(made_, expected_);
    Bytes payload;
    ASSERT_TRUE(runner_->RunPrefix(group, context_, &payload).ok());
    EXPECT_LE(payload.size(), prefixes[0].bytes() + prefixes[1].bytes() + 4 * 256)
        << "BatchWork claims so much for it";
    EXPECT_EQ(*runner_->PayloadSource(payload), *in);
    Allocate(values);
    ASSERT_TRUE(runner_->RunFromPrefix(payload, params, context_, outs_).ok());
    ASSERT_EQ(made_, expected_);
    ++compared;
    cached += graph.pure_prefix(0) > 1 && graph.pure_prefix(1) > 1 ? 1 : 0;
    gates += text.find("random_apply") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(compared, 250);
  EXPECT_GT(cached, 40);
  EXPECT_GT(gates, 80);
}

// Two views of the image beside its mask: the image is decoded once for both.
TEST_F(PicturesTest, EachPictureMayHaveSeveralChains) {
  Node view = MakeNode("center_crop", {{"size", std::int64_t{4}}});
  view.inputs = {0};
  const std::vector<Node> nodes{
      MakeNode("decode"), MakeNode("pil_to_tensor"), view, MakeNode("pil_to_tensor"),
      MaskDecode(),       MakeNode("pil_to_tensor")};
  Random random(SeedOr(4711));
  const Bytes group = GroupOf({NoisePng(random, 9, 11, false), NoisePng(random, 9, 11, true)});
  ASSERT_NO_FATAL_FAILURE(Compile(nodes, {5, 1, 3}));
  EXPECT_EQ(runner_->graph().pictures()[0].chains, (std::vector<std::size_t>{1, 2}));
  std::vector<TensorSpec> values(3);
  ASSERT_TRUE(runner_->graph().Shapes(RgbSpec(9, 11), values, nullptr).ok());
  EXPECT_EQ(values[0], (TensorSpec{DType::kU8, Layout::kChw, {1, 9, 11}}));
  Allocate(values);
  ASSERT_TRUE(runner_->Run(group, {}, context_, outs_).ok());
  const std::vector<Bytes> once = made_;
  EXPECT_EQ(once[2][0], once[1][2 * 11 + 4]) << "the crop is of the image";
  Bytes payload;
  ASSERT_TRUE(runner_->RunPrefix(group, context_, &payload).ok());
  Allocate(values);
  ASSERT_TRUE(runner_->RunFromPrefix(payload, {}, context_, outs_).ok());
  EXPECT_EQ(made_, once);
}

TEST_F(PicturesTest, WhatIsNoSampleOfThePlanIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Compile(
      {MakeNode("decode"), MakeNode("pil_to_tensor"), MaskDecode(), MakeNode("pil_to_tensor")},
      {1, 3}));
  Random random(SeedOr(4711));
  const Bytes image = NoisePng(random, 9, 11, false), mask = NoisePng(random, 9, 11, true);
  const Bytes other = NoisePng(random, 9, 12, true);
  std::vector<TensorSpec> values(2);
  ASSERT_TRUE(runner_->graph().Shapes(RgbSpec(9, 11), values, nullptr).ok());
  Allocate(values);
  const auto run = [&](const Bytes& bytes) { return runner_->Run(bytes, {}, context_, outs_); };
  EXPECT_TRUE(run(GroupOf({image, mask})).ok());
  EXPECT_EQ(run(image).code(), Code::kDataLoss);
  EXPECT_EQ(run(GroupOf({image})).code(), Code::kInvalidArgument);
  EXPECT_EQ(run(GroupOf({image, mask, mask})).code(), Code::kInvalidArgument);
  EXPECT_FALSE(run(GroupOf({image, other})).ok());
  EXPECT_EQ(run(GroupOf({image, image})).code(), Code::kUnsupported) << "not of mode L or P";
  const Status sizes = runner_->ReadSource(GroupOf({image, other})).status();
  EXPECT_EQ(sizes.code(), Code::kUnsupported);
  EXPECT_THAT(sizes.message(), HasSubstr("file 1"));
  Bytes payload;
  ASSERT_TRUE(runner_->RunPrefix(GroupOf({image, mask}), context_, &payload).ok());
  EXPECT_EQ(runner_->RunFromPrefix(GroupOf({image}), {}, context_, outs_).code(), Code::kDataLoss);
  EXPECT_EQ(runner_->PayloadSource(ByteSpan(payload).first(100)).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace headrace::ops::testing
