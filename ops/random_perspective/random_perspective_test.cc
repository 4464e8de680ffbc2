#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

// tests/python/ops compares it with torchvision.
namespace headrace::ops::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Node Perspective(Args args = {}) { return MakeNode("random_perspective", std::move(args)); }

std::vector<std::int32_t> Words(const std::vector<float>& coefficients) {
  std::vector<std::int32_t> words{1};
  for (const float value : coefficients) words.push_back(std::bit_cast<std::int32_t>(value));
  return words;
}

TEST(RandomPerspective, DrawsOneNumberIfNothingHappens) {
  TorchGenerator rng(1);
  const auto params = DrawNode(Perspective({{"p", 0.0}}), GraySpec(4, 4), rng);
  ASSERT_TRUE(params.ok());
  EXPECT_THAT(*params, Each(0));
  EXPECT_EQ(rng.draws(), 1U);
  EXPECT_THAT(RunPixels({Perspective()}, GraySpec(1, 2), {10, 20}, *params).values,
              ElementsAre(10, 20));
}

// Solves no equations.
class OlderTorch : public TorchFunctions {
 public:
  Status Exp(std::span<const float> /*in*/, std::span<float> /*out*/) const override {
    return Internal("not asked");
  }
  Status Sum(std::span<const float> /*in*/, float* /*out*/) const override {
    return Internal("not asked");
  }
  Status Softmax(std::span<const float> /*in*/, std::span<float> /*out*/) const override {
    return Internal("not asked");
  }
};

// Keeps what it is asked.
class Solver final : public OlderTorch {
 public:
  Status LeastSquares(std::span<const double> rows, std::span<const double> values,
                      std::span<double> solution) const override {
    asked.assign(rows.begin(), rows.end());
    asked_values.assign(values.begin(), values.end());
    std::ranges::fill(solution, answer);
    return Status::Ok();
  }
  double answer = 0.1;
  mutable std::vector<double> asked, asked_values;
};

TEST(RandomPerspective, GivesTheEquationsOfTheCornersToTorch) {
  const Solver torch;
  TorchGenerator rng(1);
  const Args args{{"p", 1.0}, {"distortion_scale", 0.0}};  // corners stay
  const auto params = DrawNode(Perspective(args), GraySpec(5, 9), rng, &torch);
  ASSERT_TRUE(params.ok()) << params.status().ToString();
  EXPECT_EQ(*params, Words(std::vector<float>(8, 0.1F)));
  EXPECT_EQ(rng.draws(), 9U);
  EXPECT_THAT(torch.asked_values, ElementsAre(0, 0, 8, 0, 8, 4, 0, 4));
  const std::vector<double> lower_right(torch.asked.begin() + 32, torch.asked.begin() + 48);
  EXPECT_THAT(lower_right, ElementsAre(8, 4, 1, 0, 0, 0, -64, -32, 0, 0, 0, 8, 4, 1, -32, -16));
}

TEST(RandomPerspective, WithoutASolutionTheTrainerMakesTheSample) {
  TorchGenerator rng(1);
  const Solver torch;
  const OlderTorch without;
  const auto code = [&](const TensorSpec& image, const TorchFunctions* functions) {
    return DrawNode(Perspective({{"p", 1.0}}), image, rng, functions).status().code();
  };
  EXPECT_EQ(code(GraySpec(1, 9), &torch), Code::kUnsupported);  // corners on a line
  EXPECT_EQ(code(GraySpec(9, 9), &without), Code::kUnsupported);
  Solver large;
  large.answer = 1e39;
  EXPECT_EQ(code(GraySpec(9, 9), &large), Code::kUnsupported);
  EXPECT_EQ(code(GraySpec(9, 9), nullptr), Code::kUnsupported);
}

TEST(RandomPerspective, MovesPixelsAndFills) {
  const Node node = Perspective({{"fill", std::vector<double>{7}}});
  // One pixel to the left.
  const auto words = Words({1, 0, 1, 0, 1, 0, 0, 0});
  EXPECT_THAT(RunPixels({node}, GraySpec(1, 4), {10, 20, 30, 40}, words).values,
              ElementsAre(20, 30, 40, 7));
  // Dividing by what grows along the row, which is 0 nowhere in the image.
  EXPECT_THAT(
      RunPixels({node}, GraySpec(1, 4), {10, 20, 30, 40}, Words({2, 0, 0, 0, 1, 0, 0.5F, 0}))
          .values,
      ElementsAre(10, 20, 30, 30));
}

// 49 * (1 / 49) is less than 1, so a product with the reciprocal takes another pixel.
TEST(RandomPerspective, DividesAsPillowDoes) {
  const auto words = Words({49, 0, 24.5F, 0, 0, 24.5F, 0, 96});
  EXPECT_THAT(RunPixels({Perspective()}, GraySpec(1, 4), {10, 20, 30, 40}, words).values,
              ElementsAre(20, 30, 40, 0));
  const auto down = Words({0, 0, 24.5F, 0, 49, 24.5F, 96, 0});
  EXPECT_THAT(RunPixels({Perspective()}, GraySpec(4, 1), {10, 20, 30, 40}, down).values,
              ElementsAre(20, 30, 40, 0));
}

TEST(RandomPerspective, ACropAfterItMakesOnlyItsPart) {
  const Node crop = MakeNode("crop", {{"top", std::int64_t{0}},
                                      {"left", std::int64_t{2}},
                                      {"size", std::vector<std::int64_t>{1, 2}}});
  const auto words = Words({1, 0, 1, 0, 1, 0, 0, 0});
  EXPECT_THAT(RunPixels({Perspective(), crop}, GraySpec(1, 4), {10, 20, 30, 40}, words).values,
              ElementsAre(40, 0));
}

TEST(RandomPerspective, RefusesWhatNoDrawMakes) {
  const float endless = std::numeric_limits<float>::infinity();
  EXPECT_EQ(RunPixels({Perspective()}, GraySpec(1, 1), {1}, Words({1, 0, endless, 0, 1, 0, 0, 0}))
                .status.code(),
            Code::kInvalidArgument);
  const auto code = [](const std::string& name, const ArgValue& value) {
    const std::vector<std::int32_t> params(9);
    return RunPixels({Perspective({{name, value}})}, GraySpec(1, 1), {1}, params).status.code();
  };
  EXPECT_EQ(code("p", 1.0), Code::kOk);
  EXPECT_EQ(code("interpolation", std::string("box")), Code::kUnsupported);
  EXPECT_EQ(code("fill", std::vector<double>{300}), Code::kUnsupported);
  EXPECT_EQ(code("distortion_scale", 2.0), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
