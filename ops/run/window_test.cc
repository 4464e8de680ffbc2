#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/test_draws.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

// Chains make only the part of each image that the sample shows, and this must not change the
// result. Compares random chains with their operators one by one, each on whole images.
namespace headrace::ops::testing {
namespace {

using test_draws::Between;
using test_draws::OneOf;
using test_draws::Random;
using test_draws::SeedOr;

std::vector<std::int64_t> Sides(Random& random, std::int64_t most) {
  return {Between(random, 1, most), Between(random, 1, most)};
}

Node RandomNode(Random& random, bool tensor) {
  const std::string interpolation =
      OneOf<std::string>(random, {"nearest", "bilinear", "bicubic", "lanczos", "box", "hamming"});
  const std::string border =
      OneOf<std::string>(random, {"constant", "constant", "edge", "reflect", "symmetric"});
  const std::string moved =
      OneOf<std::string>(random, {"nearest", "bilinear", tensor ? "bilinear" : "bicubic"});
  const std::int64_t padding = Between(random, 0, 9);
  const std::int64_t api = Between(random, 1, 2);
  Args resizing{{"size", Sides(random, 80)}, {"interpolation", interpolation}};
  if (tensor) {
    resizing = {{"size", std::vector<std::int64_t>{Between(random, 1, 70), Between(random, 2, 70)}},
                {"interpolation",
                 OneOf<std::string>(random, {"nearest", "nearest-exact", "bilinear", "bicubic"})},
                {"antialias", api == 1 ? std::int64_t{1} : Between(random, 0, 1)},
                {"api", api},
                {"tensors", std::int64_t{1}}};
  }
  switch (Between(random, 0, 22)) {
    case 0:
    case 1:
      return MakeNode("resize", resizing);
    case 2:
      return MakeNode("random_resized_crop", resizing);
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
      return MakeNode("grayscale",
                      {{"num_output_channels", OneOf<std::int64_t>(random, {1, 3})}, {"api", api}});
    case 10:
      return MakeNode("random_grayscale", {{"p", 0.5}, {"api", api}});
    case 11: {
      Args args = AugmentArgs(1);
      args["num_ops"] = Between(random, 1, 3);
      args["interpolation"] = moved;
      args["api"] = api;
      return MakeNode("rand_augment", args);
    }
    case 12: {
      Args args = AugmentArgs(3);
      args.erase("rotate");
      args["mixture_width"] = Between(random, 1, 3);
      args["api"] = api;
      args["interpolation"] = OneOf<std::string>(random, {"nearest", "bilinear"});
      return MakeNode("aug_mix", args);
    }
    case 13:
      return MakeNode("random_rotation",
                      {{"degrees", OneOf<std::vector<double>>(random, {{-90, 90}, {90, 90}})},
                       {"interpolation", moved},
                       {"tensor_grids", std::int64_t{1}},
                       {"api", api}});
    case 14:
      return MakeNode("random_affine", {{"degrees", std::vector<double>{-30, 30}},
                                        {"translate", std::vector<double>{0.1, 0.2}},
                                        {"scale", std::vector<double>{0.5, 1.5}},
                                        {"interpolation", moved},
                                        {"tensor_grids", std::int64_t{1}},
                                        {"api", api}});
    case 15: {
      Args args{
          {"operation", OneOf<std::string>(random, {"invert", "posterize", "solarize", "sharpness",
                                                    "autocontrast", "equalize"})},
          {"api", api}};
      const std::string& operation = std::get<std::string>(args["operation"]);
      if (operation == "posterize") args["value"] = std::int64_t{3};
      if (operation == "solarize" || operation == "sharpness") args["value"] = 1.5;
      return MakeNode("random_operation", args);
    }
    case 16:
      return MakeNode("gaussian_blur",
                      {{"positions_x", std::vector<double>(2 * Between(random, 0, 4) + 1)},
                       {"positions_y", std::vector<double>(2 * Between(random, 0, 4) + 1)},
                       {"known_sums", std::int64_t{1}},
                       {"api", api}});
    case 17:
      if (tensor) return MakeNode("identity");
      return MakeNode("random_perspective", {{"interpolation", moved}, {"p", 0.8}});
    case 18:
      if (tensor) return MakeNode("identity");
      return MakeNode(
          "affine", {{"matrix", OneOf<std::vector<double>>(random, {{1, 0.2, 0, 0, 1, 0},
                                                                    {1, 0, 3.5, 0, 1, 0},
                                                                    {0.9, 0.3, -2, -0.3, 0.9, 5}})},
                     {"interpolation", moved}});
    case 19: {
      if (tensor) return MakeNode("identity");
      std::vector<std::int64_t> table(256);
      for (std::int64_t& value : table) value = Between(random, 0, 255);
      return MakeNode("map_values", {{"table", table}});
    }
    case 20: {
      if (tensor) return MakeNode("identity");
      Args args{{"operation", OneOf<std::string>(random, {"autocontrast", "equalize", "brightness",
                                                          "color", "contrast", "sharpness"})}};
      const std::string& operation = std::get<std::string>(args["operation"]);
      if (operation != "autocontrast" && operation != "equalize") args["factor"] = 1.5;
      return MakeNode("pil_operation", args);
    }
    case 21:
      return MakeNode(tensor ? "identity" : "reverse_channels");
    default: {
      Args args = OneOf<Args>(
          random,
          {{{"brightness", 0.5}, {"hue", 0.3}}, {{"saturation", 0.5}}, {{"contrast", 0.5}}});
      args["api"] = api;
      return MakeNode("color_jitter", args);
    }
  }
}

// The values of a tensor in the order of an image's values.
std::vector<float> ChannelsLast(const Ran& ran) {
  if (ran.spec.layout != Layout::kChw) return ran.values;
  const auto channels = static_cast<std::size_t>(ran.spec.dims[0]);
  const std::size_t pixels = ran.values.size() / channels;
  std::vector<float> values(ran.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i % pixels * channels + i / pixels] = ran.values[i];
  }
  return values;
}

// Runs each operator in a separate chain, on the whole output of the one before.
Ran OneByOne(const Chain& chain, TensorSpec spec, Pixels pixels,
             const std::vector<std::int32_t>& params) {
  const std::string& pillow = chain.libraries().pillow;
  const Node& source = chain.nodes()[1];
  const bool tensor = source.op == "pil_to_tensor";
  Ran ran;
  for (std::size_t i = tensor ? 2 : 1; i < chain.nodes().size(); ++i) {
    const auto first = params.begin() + chain.param_offset(static_cast<int>(i));
    const int words = chain.schema(static_cast<int>(i)).param_words();
    std::vector<Node> nodes{chain.nodes()[i]};
    if (tensor) nodes.insert(nodes.begin(), source);
    ran = RunPixels(std::move(nodes), spec, pixels, {first, first + words}, pillow);
    if (!ran.status.ok()) return ran;
    const std::vector<float> values = ChannelsLast(ran);
    pixels.assign(values.begin(), values.end());
    const Result<ImageSpec> made = ImageSpec::From(ran.spec);
    spec = {DType::kU8, Layout::kHwc, {made->height, made->width, made->channels}};
  }
  return ran;
}

class RandomChains : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomChains, EqualTheirOperatorsOneByOne) {
  const EvenTorch torch;
  int compared = 0;
  for (unsigned round = 0; round < 600; ++round) {
    Random random(SeedOr(20260) + round);
    const int channels = OneOf<int>(random, {1, 3});
    const std::string mode = channels == 1 ? "L" : "RGB";
    std::vector<Node> nodes{MakeNode("from_array", {{"mode", mode}})};
    const bool tensor = Between(random, 0, 1) == 1;
    if (tensor) nodes.push_back(MakeNode("pil_to_tensor"));
    for (std::int64_t n = Between(random, 2, 5); n > 0; --n) {
      nodes.push_back(RandomNode(random, tensor));
    }
    std::string text = "HEADRACE_TEST_SEED=" + std::to_string(SeedOr(20260) + round) + ":";
    for (const Node& node : nodes) text += " " + node.op;
    SCOPED_TRACE(text);

    const Bytes table = PlainExpTable(nodes);
    const Result<Chain> chain =
        Chain::Compile(nodes, Libraries(GetParam()), {{"torch_exp", table}}, &torch);
    ASSERT_TRUE(chain.ok()) << chain.status().ToString();
    const TensorSpec in{
        DType::kU8, Layout::kHwc, {Between(random, 1, 90), Between(random, 1, 90), channels}};
    Pixels pixels(in.bytes());
    for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());
    TorchGenerator rng(random());
    std::vector<std::int32_t> params(static_cast<std::size_t>(chain->param_words()));
    TensorSpec out;
    // Some chains make no image from this one: a border that reflects too much.
    if (!chain->Draw(RowOf(in), rng, params, &out).ok()) continue;
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
}  // namespace headrace::ops::testing
