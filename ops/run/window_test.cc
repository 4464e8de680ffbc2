#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

// Chains make of each image only what the sample shows. That must not be seen: random chains
// against their operators one by one, each on whole images.
namespace headrace::ops {
namespace {

using ::headrace::ops::testing::AugmentArgs;
using ::headrace::ops::testing::Libraries;
using ::headrace::ops::testing::MakeNode;
using ::headrace::ops::testing::Pixels;
using ::headrace::ops::testing::PlainExpTable;
using ::headrace::ops::testing::Ran;
using ::headrace::ops::testing::RunPixels;

using Random = std::mt19937;

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// HEADRACE_TEST_SEED repeats a run.
unsigned Seed() {
  const char* given = std::getenv("HEADRACE_TEST_SEED");
  return given == nullptr ? 20260 : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

template <typename T>
T OneOf(Random& random, std::vector<T> values) {
  return values[static_cast<std::size_t>(
      Between(random, 0, static_cast<std::int64_t>(values.size()) - 1))];
}

std::vector<std::int64_t> Sides(Random& random, std::int64_t most) {
  return {Between(random, 1, most), Between(random, 1, most)};
}

Node RandomNode(Random& random) {
  const std::string interpolation =
      OneOf<std::string>(random, {"nearest", "bilinear", "bicubic", "lanczos", "box", "hamming"});
  const std::string border =
      OneOf<std::string>(random, {"constant", "constant", "edge", "reflect", "symmetric"});
  const std::int64_t padding = Between(random, 0, 9);
  switch (Between(random, 0, 16)) {
    case 0:
    case 1:
      return MakeNode("resize", {{"size", Sides(random, 90)}, {"interpolation", interpolation}});
    case 2:
      return MakeNode("random_resized_crop",
                      {{"size", Sides(random, 60)}, {"interpolation", interpolation}});
    case 3:
    case 4:
      return MakeNode("center_crop", {{"size", Sides(random, 70)}});
    case 5:
      return MakeNode("random_crop", {{"size", Sides(random, 40)},
                                      {"padding", padding},
                                      {"pad_if_needed", std::int64_t{1}},
                                      {"padding_mode", border}});
    case 6:
      return MakeNode("pad", {{"padding", padding}, {"padding_mode", border}});
    case 7:
      return MakeNode("random_horizontal_flip");
    case 8:
      return MakeNode("random_vertical_flip");
    case 9:
      return MakeNode("grayscale", {{"num_output_channels", OneOf<std::int64_t>(random, {1, 3})}});
    case 10:
      return MakeNode("random_grayscale", {{"p", 0.5}});
    case 11: {
      Args args = AugmentArgs(1);
      args["num_ops"] = Between(random, 1, 3);
      args["interpolation"] = OneOf<std::string>(random, {"nearest", "bilinear", "bicubic"});
      return MakeNode("rand_augment", args);
    }
    case 12: {
      Args args = AugmentArgs(3);
      args["mixture_width"] = Between(random, 1, 3);
      args["api"] = Between(random, 1, 2);
      args["interpolation"] = OneOf<std::string>(random, {"nearest", "bilinear"});
      return MakeNode("aug_mix", args);
    }
    case 13:
      return MakeNode("random_rotation", {{"degrees", std::vector<double>{-90, 90}}});
    case 14:
      return MakeNode("random_affine", {{"degrees", std::vector<double>{-30, 30}},
                                        {"translate", std::vector<double>{0.1, 0.2}},
                                        {"scale", std::vector<double>{0.5, 1.5}}});
    case 15: {
      Args args{
          {"operation", OneOf<std::string>(random, {"invert", "posterize", "solarize", "sharpness",
                                                    "autocontrast", "equalize"})}};
      const std::string& operation = std::get<std::string>(args["operation"]);
      if (operation == "posterize") args["value"] = std::int64_t{3};
      if (operation == "solarize" || operation == "sharpness") args["value"] = 1.5;
      return MakeNode("random_operation", args);
    }
    default:
      return OneOf<Node>(random, {MakeNode("color_jitter", {{"brightness", 0.5}, {"hue", 0.3}}),
                                  MakeNode("color_jitter", {{"saturation", 0.5}}),
                                  MakeNode("color_jitter", {{"contrast", 0.5}})});
  }
}

// Of those that take tensors of uint8.
Node RandomTensorNode(Random& random) {
  const std::int64_t api = Between(random, 1, 2);
  const Args resizing{{"size", std::vector<std::int64_t>{Between(random, 1, 70),  //
                                                         Between(random, 2, 70)}},
                      {"interpolation", OneOf<std::string>(random, {"nearest", "nearest-exact",
                                                                    "bilinear", "bicubic"})},
                      {"antialias", api == 1 ? std::int64_t{1} : Between(random, 0, 1)},
                      {"api", api},
                      {"tensors", std::int64_t{1}}};
  switch (Between(random, 0, 5)) {
    case 0:
    case 1:
      return MakeNode("resize", resizing);
    case 2:
      return MakeNode("random_resized_crop", resizing);
    case 3:
      return MakeNode("center_crop", {{"size", Sides(random, 70)}});
    case 4:
      return MakeNode("random_horizontal_flip");
    default:
      return MakeNode("random_vertical_flip");
  }
}

Pixels ToHwc(const std::vector<float>& planes, const ImageSpec& spec) {
  Pixels pixels(planes.size());
  const auto area = static_cast<std::size_t>(spec.height * spec.width);
  const auto channels = static_cast<std::size_t>(spec.channels);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    pixels[i % area * channels + i / area] = static_cast<std::uint8_t>(planes[i]);
  }
  return pixels;
}

// Each operator in a chain of its own, on all of what the one before made. Behind to_image images
// become tensors anew for each.
Ran OneByOne(const Chain& chain, ImageSpec spec, Pixels pixels,
             const std::vector<std::int32_t>& params) {
  const std::string& pillow = chain.libraries().pillow;
  Ran ran;
  bool tensors = false;
  for (std::size_t i = 1; i < chain.nodes().size(); ++i) {
    const auto first = params.begin() + chain.param_offset(static_cast<int>(i));
    const int words = chain.schema(static_cast<int>(i)).param_words();
    std::vector<Node> nodes{chain.nodes()[i]};
    if (tensors) nodes.insert(nodes.begin(), MakeNode("to_image"));
    ran = RunPixels(nodes, spec, pixels, {first, first + words}, pillow);
    if (!ran.status.ok()) return ran;
    spec = ran.spec;
    spec.layout = Layout::kHwc;
    tensors = ran.spec.layout == Layout::kChw;
    pixels = tensors ? ToHwc(ran.values, spec) : Pixels(ran.values.begin(), ran.values.end());
  }
  return ran;
}

class RandomChains : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomChains, EqualTheirOperatorsOneByOne) {
  int compared = 0;
  for (unsigned round = 0; round < 600; ++round) {
    Random random(Seed() + round);
    const int channels = OneOf<int>(random, {1, 3});
    const std::string mode = channels == 1 ? "L" : "RGB";
    std::vector<Node> nodes{MakeNode("from_array", {{"mode", mode}})};
    for (std::int64_t n = Between(random, 2, 5); n > 0; --n) nodes.push_back(RandomNode(random));
    if (OneOf<int>(random, {0, 0, 1}) == 1) {
      nodes.resize(OneOf<std::size_t>(random, {1, 2}));
      nodes.push_back(MakeNode("to_image"));
      for (std::int64_t n = Between(random, 1, 4); n > 0; --n) {
        nodes.push_back(RandomTensorNode(random));
      }
    }
    std::string text = "HEADRACE_TEST_SEED=" + std::to_string(Seed() + round) + ":";
    for (const Node& node : nodes) text += " " + node.op;
    SCOPED_TRACE(text);

    const Bytes table = PlainExpTable(nodes);
    const Result<Chain> chain =
        Chain::Compile(nodes, Libraries(GetParam()), {{"torch_exp", table}});
    ASSERT_TRUE(chain.ok()) << chain.status().ToString();
    const ImageSpec in{Between(random, 1, 90), Between(random, 1, 90), channels, DType::kU8,
                       Layout::kHwc};
    Pixels pixels(in.bytes());
    for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());
    TorchGenerator rng(random());
    std::vector<std::int32_t> params(static_cast<std::size_t>(chain->param_words()));
    ImageSpec out;
    // Some chains make no image of this one: a border that reflects too much.
    if (!chain->Draw(in, rng, params, &out).ok()) continue;
    const Ran expected = OneByOne(*chain, in, pixels, params);
    ASSERT_TRUE(expected.status.ok()) << expected.status.ToString();
    const Ran ran = RunPixels({nodes.begin() + 1, nodes.end()}, in, pixels, params, GetParam());
    ASSERT_TRUE(ran.status.ok()) << ran.status.ToString();
    ASSERT_EQ(ran.spec, expected.spec);
    ASSERT_EQ(ran.values, expected.values);
    ++compared;
  }
  EXPECT_GT(compared, 400);
}

INSTANTIATE_TEST_SUITE_P(PassOrders, RandomChains, ::testing::Values("12.1.0", "12.3.0", "13.0.0"),
                         [](const auto& made) {
                           return "Pillow" + made.param.substr(0, 2) + "_" +
                                  made.param.substr(3, 1);
                         });

}  // namespace
}  // namespace headrace::ops
