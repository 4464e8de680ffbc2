#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/timm_augment/timm_step.h"

namespace headrace::ops::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvertOp = static_cast<std::int64_t>(TimmOp::kInvert);
constexpr auto kPosterizeOp = static_cast<std::int64_t>(TimmOp::kPosterize);

Node Timm(Args more) {
  Args args{{"ops", std::vector<std::int64_t>{kInvertOp, kPosterizeOp}},
            {"probabilities", std::vector<double>{1.0, 1.0}},
            {"magnitudes", std::vector<double>{9.0, 9.0}},
            {"generator", std::string("python")},
            {"fill", std::int64_t{128}}};
  for (auto& [name, value] : more) args[name] = value;
  return MakeNode("timm_augment", args);
}

Node TimmLayers(std::int64_t layers, Args more = {}) {
  more["num_layers"] = layers;
  more["choices_from"] = std::string("numpy");
  return Timm(std::move(more));
}

Node TimmPolicies(std::vector<std::int64_t> policies, Args more = {}) {
  more["policies"] = std::move(policies);
  return Timm(std::move(more));
}

std::vector<std::int32_t> TimmWords(const TimmStep& step) {
  std::vector<std::int32_t> words(TimmStep::kWords);
  step.Write(words);
  return words;
}

std::vector<float> TimmMade(const TimmStep& step, const TensorSpec& image, const Pixels& pixels) {
  const Ran ran = RunPixels({TimmLayers(1)}, image, pixels, TimmWords(step));
  EXPECT_TRUE(ran.status.ok()) << ran.status.ToString();
  return ran.values;
}

TEST(TimmAugment, OperationsOfPixels) {
  const auto made = [](TimmOp op, double value) {
    return TimmMade({.happens = true, .op = op, .value = value}, GraySpec(1, 3), {10, 127, 200});
  };
  EXPECT_THAT(made(TimmOp::kInvert, 0), ElementsAre(245, 128, 55));
  EXPECT_THAT(made(TimmOp::kPosterize, 1), ElementsAre(0, 0, 128));
  EXPECT_THAT(made(TimmOp::kPosterizeIncreasing, 0), ElementsAre(0, 0, 0));
  EXPECT_THAT(made(TimmOp::kSolarizeIncreasing, 100), ElementsAre(10, 128, 55));
  EXPECT_THAT(made(TimmOp::kSolarizeAdd, 110), ElementsAre(120, 237, 200));
  EXPECT_THAT(made(TimmOp::kBrightness, 0.5), ElementsAre(5, 63, 100));
  EXPECT_THAT(TimmMade({}, GraySpec(1, 3), {10, 127, 200}), ElementsAre(10, 127, 200));
}

TEST(TimmAugment, OperationsThatMovePixels) {
  const auto made = [](TimmOp op, double value, double sine = 0) {
    return TimmMade({.happens = true, .op = op, .value = value, .sine = sine}, GraySpec(2, 2),
                    {1, 2, 3, 4});
  };
  EXPECT_THAT(made(TimmOp::kTranslateX, 1), ElementsAre(2, 128, 4, 128));
  EXPECT_THAT(made(TimmOp::kTranslateYRel, -1), ElementsAre(128, 128, 1, 2));
  EXPECT_THAT(made(TimmOp::kRotate, -1), ElementsAre(4, 3, 2, 1));  // half a turn
  EXPECT_THAT(made(TimmOp::kShearX, 0), ElementsAre(1, 2, 3, 4));
}

TEST(TimmAugment, WordsThatAreNeverDrawnAreRefused) {
  const auto code = [](std::vector<std::int32_t> words) {
    return RunPixels({TimmLayers(1)}, GraySpec(1, 1), {1}, words).status.code();
  };
  const auto of = [&](TimmOp op, double value, double sine = 0) {
    return code(TimmWords({.happens = true, .op = op, .value = value, .sine = sine}));
  };
  EXPECT_EQ(of(TimmOp::kRotate, 1), Code::kOk);
  EXPECT_EQ(of(TimmOp::kRotate, 1, 2), Code::kInvalidArgument);
  EXPECT_EQ(of(TimmOp::kShearX, 1e8), Code::kInvalidArgument);
  EXPECT_EQ(of(TimmOp::kShearX, std::numeric_limits<double>::quiet_NaN()), Code::kInvalidArgument);
  EXPECT_EQ(of(TimmOp::kPosterize, -1), Code::kInvalidArgument);
  EXPECT_EQ(of(TimmOp::kPosterize, 9), Code::kInvalidArgument);
  EXPECT_EQ(of(TimmOp::kSolarizeAdd, 256), Code::kInvalidArgument);
  EXPECT_EQ(code({-1, 0, 0, 0, 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({25, 0, 0, 0, 0, 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({1, 1, 0, 0, 0, 0}), Code::kInvalidArgument);  // lanczos
}

TEST(TimmAugment, LayersAreChosenByNumpyAndDrawnByPython) {
  Generators rng(5, true, true);
  NumpyGenerator numpy(5);
  std::vector<std::uint32_t> chosen(3);
  numpy.Choose(2, chosen);
  const auto params = DrawNode(TimmLayers(3), RgbSpec(4, 4), rng);
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto op = chosen[i] == 0 ? kInvertOp : kPosterizeOp;
    EXPECT_EQ((*params)[i * TimmStep::kWords], op + 1);
  }
  EXPECT_EQ(rng.numpy->State(), numpy.State());
  EXPECT_EQ(rng.python->draws(), 0U);  // neither probabilities nor signs
  EXPECT_EQ(rng.torch.draws(), 0U);
}

TEST(TimmAugment, APolicyIsChosenByPythonAndAShorterOneLeavesTheRest) {
  const Node node = TimmPolicies({2, 1}, {{"ops", std::vector<std::int64_t>{2, 2, 1}},
                                          {"probabilities", std::vector<double>{0.5, 0.5, 1.0}},
                                          {"magnitudes", std::vector<double>{1, 1, 1}}});
  bool shorter = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Generators rng(seed, true);
    PythonGenerator python(seed);
    const auto params = DrawNode(node, RgbSpec(4, 4), rng);
    ASSERT_TRUE(params.ok()) << params.status().ToString();
    if (python.Below(2) == 0) {
      EXPECT_EQ((*params)[0], python.Random() > 0.5 ? 0 : 3);
      EXPECT_EQ((*params)[TimmStep::kWords], python.Random() > 0.5 ? 0 : 3);
    } else {
      shorter = true;
      EXPECT_EQ((*params)[0], 2);
      EXPECT_THAT(std::vector(params->begin() + TimmStep::kWords, params->end()), Each(0));
    }
    EXPECT_EQ(rng.python->State(), python.State());
  }
  EXPECT_TRUE(shorter);
}

TEST(TimmAugment, WherePillowRaisesTheTrainerMakesTheSample) {
  const Args no_bits{{"ops", std::vector<std::int64_t>{kPosterizeOp}},
                     {"probabilities", 1.0},
                     {"magnitudes", 1.0}};
  Args raises = no_bits;
  raises["least_bits"] = std::int64_t{1};
  Generators rng(1, true, true);
  EXPECT_TRUE(DrawNode(TimmLayers(1, no_bits), RgbSpec(4, 4), rng).ok());
  EXPECT_THAT(DrawNode(TimmLayers(1, raises), RgbSpec(4, 4), rng).status().message(),
              HasSubstr("posterizes to no fewer bits"));
}

TEST(TimmAugment, WrongArgumentsAreRefused) {
  const auto code = [](Node node) { return CompileRgb({std::move(node)}).status().code(); };
  EXPECT_EQ(code(TimmLayers(2)), Code::kOk);
  EXPECT_EQ(code(TimmPolicies({1, 1})), Code::kOk);
  EXPECT_EQ(code(Timm({})), Code::kInvalidArgument);
  EXPECT_EQ(code(TimmLayers(2, {{"policies", std::vector<std::int64_t>{2}}})),
            Code::kInvalidArgument);
  EXPECT_EQ(code(Timm({{"num_layers", std::int64_t{2}}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmLayers(101)), Code::kUnsupported);
  EXPECT_EQ(code(TimmPolicies({1})), Code::kUnsupported);
  EXPECT_EQ(code(TimmPolicies({2, 0})), Code::kUnsupported);
  EXPECT_EQ(code(TimmLayers(2, {{"weights", std::vector<double>{1.0, 0.0}}})),
            Code::kInvalidArgument);
  EXPECT_EQ(code(TimmLayers(2, {{"probabilities", 1.0}})), Code::kInvalidArgument);
  EXPECT_EQ(code(TimmLayers(2, {{"ops", std::vector<std::int64_t>{1, 24}}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmLayers(2, {{"magnitude_std", -1.0}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmLayers(2, {{"generator", std::string("torch")}})), Code::kUnsupported);
  EXPECT_EQ(code(TimmLayers(2, {{"fill", std::vector<double>{1, 2}}})), Code::kUnsupported);
  EXPECT_EQ(CompileRgb({MakeNode("pil_to_tensor"), TimmLayers(2)}).status().code(),
            Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
