#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/core/graph.h"
#include "ops/core/op_registry.h"
#include "ops/core/test_util.h"

// What operators say of their arguments is true: what lies outside of the limits is refused by their
// factories, and what draws says so.
namespace headrace::ops::testing {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<std::int64_t>;

// A chain that compiles, with the operator in it.
struct Example {
  std::vector<Node> before = {MakeNode("decode")};
  Args args;
  std::vector<Node> after = {};
};

Args With(Args args, Args more) {
  args.merge(more);
  return args;
}

Example OfTensor(Args args) {
  return {{MakeNode("decode"), MakeNode("to_tensor")}, std::move(args)};
}
Example OfCv(Args args) {
  args["version"] = std::int64_t{4};
  return {{MakeNode("cv_read")}, std::move(args)};
}
Example OfGate(Args args) {
  return {{MakeNode("decode")}, std::move(args), {MakeNode("random_horizontal_flip")}};
}

// Of the operators that have to be told something, or that take something else than a PIL image.
std::map<std::string, Example> Examples() {
  const Args size{{"size", Ints{8, 8}}};
  const Args python{{"generator", std::string("python")}};
  Args aug_mix = AugmentArgs(3);
  aug_mix.erase("rotate");
  const Args policies{{"policy_ops", Ints{0, 0}},
                      {"policy_probabilities", Numbers{0.5, 0.5}},
                      {"policy_magnitudes", Ints{-1, -1}}};
  return {
      {"decode", {{}, {}}},
      {"cv_read", {{}, {}}},
      {"from_array", {{}, Rgb()}},
      {"affine", {.args = {{"matrix", Numbers{1, 0, 0, 0, 1, 0}}}}},
      {"aug_mix", {.args = aug_mix}},
      {"auto_augment", {.args = With(AugmentArgs(10), policies)}},
      {"center_crop", {.args = size}},
      {"channels_last", {{MakeNode("decode"), MakeNode("pil_to_tensor")}, {}}},
      {"crop", {.args = With(size, {{"top", std::int64_t{0}}, {"left", std::int64_t{0}}})}},
      {"cv_cvt_color", OfCv({{"code", std::string("BGR2GRAY")}})},
      {"cv_gaussian_blur", OfCv({{"size", Ints{3, 3}}})},
      {"cv_resize", OfCv(size)},
      {"cv_warp_affine", OfCv(With(size, {{"matrix", Numbers{1, 0, 0, 0, 1, 0}}}))},
      {"elastic_transform", {.args = {{"alpha", Numbers{1, 1}}, {"known_sums", std::int64_t{1}}}}},
      {"five_crop", {.args = With(size, {{"part", std::int64_t{0}}})}},
      {"flip", {.args = {{"axis", std::string("vertical")}}}},
      {"gaussian_blur",
       {.args = {{"positions_x", Numbers{-1, 0, 1}},
                 {"positions_y", Numbers{-1, 0, 1}},
                 {"known_sums", std::int64_t{1}}}}},
      {"map_values", {.args = {{"table", Ints(256)}}}},
      {"normalize", OfTensor({{"mean", 0.5}, {"std", 0.5}})},
      {"pad", {.args = {{"padding", std::int64_t{1}}}}},
      {"pil_operation", {.args = {{"operation", std::string("color")}, {"factor", 0.5}}}},
      {"rand_augment", {.args = AugmentArgs(1)}},
      {"random_affine", {.args = {{"degrees", Numbers{-5, 5}}}}},
      {"random_apply", OfGate({{"nodes", std::int64_t{1}}})},
      {"random_choice", OfGate(With(python, {{"parts", Ints{1}}}))},
      {"random_crop", {.args = With(size, {{"pad_if_needed", std::int64_t{1}}})}},
      {"random_erasing", OfTensor({})},
      {"random_operation", {.args = {{"operation", std::string("sharpness")}, {"value", 1.5}}}},
      {"random_order", OfGate({{"parts", Ints{1}}})},
      {"random_resize", {.args = {{"min_size", std::int64_t{8}}, {"max_size", std::int64_t{16}}}}},
      {"random_resized_crop", {.args = size}},
      {"random_rotation", {.args = {{"degrees", Numbers{-5, 5}}}}},
      {"random_shortest_size", {.args = {{"min_size", Ints{8, 16}}}}},
      {"resize", {.args = {{"size", std::int64_t{8}}}}},
      {"scale_jitter", {.args = {{"target_size", Ints{8, 8}}}}},
      {"timm_augment",
       {.args = With(python, {{"ops", Ints{0}},
                              {"probabilities", Numbers{0.5}},
                              {"magnitudes", Numbers{5}},
                              {"num_layers", std::int64_t{1}},
                              {"choices_from", std::string("numpy")}})}},
      {"timm_random_erasing", OfTensor(With(python, {{"log_ratio", Numbers{-1, 1}}}))},
      {"timm_random_resized_crop",
       {.args = With(With(size, python), {{"log_ratio", Numbers{-0.2, 0.2}}})}},
      {"to_dtype", OfTensor({{"dtype", std::string("float64")}})},
      {"trivial_augment_wide",
       {.args = With(AugmentArgs(4),
                     {{"num_magnitude_bins", std::int64_t{4}}, {"translate", Ints{0, 1, 2, 3}}})}},
  };
}

class ArgLimitsTest : public ::testing::Test {
 protected:
  Result<Graph> Compile(const std::string& op, const Example& example, const Args& args) const {
    std::vector<Node> nodes = example.before;
    nodes.push_back(MakeNode(op, args));
    nodes.insert(nodes.end(), example.after.begin(), example.after.end());
    const std::int32_t last = static_cast<std::int32_t>(nodes.size()) - 1;
    // A list: operators may make sizes that are drawn.
    return Graph::Compile(nodes, {last}, Libraries(), {}, &torch_, std::vector{last});
  }
  const std::map<std::string, Example> examples_ = Examples();
  const EvenTorch torch_;
};

const Example& ExampleOf(const std::map<std::string, Example>& examples, const std::string& op) {
  static const Example plain;
  const auto found = examples.find(op);
  return found == examples.end() ? plain : found->second;
}

// The same of a tensor of uint8, with the bits that are made natively.
Example OnTensor(const OpSpec& spec, Example example) {
  example.before.push_back(MakeNode("pil_to_tensor"));
  for (const char* known : {"antialias", "tensors", "tensor_grids"}) {
    const bool has = std::ranges::find(spec.args, known, &ArgSpec::name) != spec.args.end();
    if (has) example.args.emplace(known, std::int64_t{1});
  }
  return example;
}

// Values of an argument that its limits exclude, otherwise like `usual`.
std::vector<ArgValue> Excluded(const ArgSpec& arg, const ArgValue* usual) {
  const ops::ArgLimits& limits = arg.limits;
  std::vector<double> numbers;
  if (limits.least) numbers.push_back(limits.above ? *limits.least : *limits.least - 1);
  if (limits.most) numbers.push_back(*limits.most + 1);
  std::vector<ArgValue> values;
  if (!limits.choices.empty()) values.emplace_back(std::string("no such thing"));
  const bool ints =
      arg.type == ArgType::kInts || arg.type == ArgType::kInt || arg.type == ArgType::kBool;
  const bool list = arg.type == ArgType::kInts || arg.type == ArgType::kNumbers;
  Numbers like(limits.counts.empty() ? 1 : limits.counts.back());
  if (usual != nullptr) {
    if (const auto* given = std::get_if<Numbers>(usual)) like = *given;
    if (const auto* given = std::get_if<Ints>(usual)) like.assign(given->begin(), given->end());
  }
  const auto add = [&](const Numbers& of) {
    if (!list) {
      values.push_back(ints ? ArgValue(static_cast<std::int64_t>(of[0])) : ArgValue(of[0]));
    } else if (ints) {
      values.emplace_back(Ints(of.begin(), of.end()));
    } else {
      values.emplace_back(of);
    }
  };
  for (const double number : numbers) {
    Numbers changed = like;
    changed[0] = number;
    add(changed);
  }
  if (!limits.counts.empty()) {
    like.resize(limits.counts.back() + 1, like.back());
    add(like);
  }
  return values;
}

TEST_F(ArgLimitsTest, ExcludeNothingThatFactoriesTake) {
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    const Example& example = ExampleOf(examples_, name);
    const Result<Graph> right = Compile(name, example, example.args);
    EXPECT_TRUE(right.ok()) << name << ": " << right.status().ToString();
    for (const ArgSpec& arg : entry.spec.args) {
      const auto given = example.args.find(arg.name);
      const ArgValue* usual = given != example.args.end() ? &given->second
                              : arg.default_value         ? &*arg.default_value
                                                          : nullptr;
      if (usual != nullptr) {
        const Status fits = CheckLimits(arg, *usual);
        EXPECT_TRUE(fits.ok()) << name << ": " << fits.ToString();
      }
      for (const ArgValue& value : Excluded(arg, usual)) {
        EXPECT_FALSE(CheckLimits(arg, value).ok())
            << name << "." << arg.name << " " << ShowValue(value);
        // An argument of tensors alone says nothing of a PIL image, and the other way round.
        bool refused = false;
        for (const Example& one : {example, OnTensor(entry.spec, example)}) {
          if (!Compile(name, one, one.args).ok()) continue;
          Args args = one.args;
          args[arg.name] = value;
          refused |= !Compile(name, one, args).ok();
        }
        EXPECT_TRUE(refused) << name << " takes " << arg.name << " = " << ShowValue(value)
                             << ", which is excluded: " << LimitsText(arg);
      }
    }
  }
}

TEST_F(ArgLimitsTest, EveryOperatorThatDrawsSaysWhat) {
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    const Example& example = ExampleOf(examples_, name);
    const Result<Graph> graph = Compile(name, example, example.args);
    ASSERT_TRUE(graph.ok()) << name;
    const OpSchema& schema = graph->chain(0).schema(static_cast<int>(example.before.size()));
    EXPECT_EQ(schema.purity() == Purity::kRandom, !entry.spec.draws.empty()) << name;
    EXPECT_EQ(schema.param_words() > 0, !entry.spec.draws.empty()) << name;
  }
}

TEST_F(ArgLimitsTest, EveryTextSaysItsChoices) {
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    for (const ArgSpec& arg : entry.spec.args) {
      if (arg.type != ArgType::kText) continue;
      EXPECT_FALSE(arg.limits.choices.empty()) << name << "." << arg.name;
    }
  }
}

}  // namespace
}  // namespace headrace::ops::testing
