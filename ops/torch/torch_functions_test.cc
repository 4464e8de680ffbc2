#include "ops/torch/torch_functions.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"

// tests/python/ops compares the weights with torchvision's, by the functions of a loaded torch.
namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(TorchFunctions, AreMissingWithoutTorch) { EXPECT_EQ(TorchFunctions::Loaded(), nullptr); }

// Keeps what the functions are asked for.
class Recorder final : public TorchFunctions {
 public:
  Status Exp(std::span<const float> in, std::span<float> out) const override {
    asked.assign(in.begin(), in.end());
    std::ranges::fill(out, 3.0F);
    return Status::Ok();
  }
  Status Sum(std::span<const float> /*in*/, float* out) const override {
    *out = 12;
    return Status::Ok();
  }
  Status Softmax(std::span<const float> in, std::span<float> /*out*/) const override {
    asked.assign(in.begin(), in.end());
    return Internal("broken");
  }
  mutable std::vector<float> asked;
};

TEST(GaussianWeights, ScalesSquaresAndDividesByTheSum) {
  const Recorder torch;
  const std::vector<float> positions{-2, 0, 2};
  std::vector<float> weights(3);
  ASSERT_TRUE(GaussianWeights(torch, positions, 0.5F, 1, weights).ok());
  EXPECT_THAT(torch.asked, ElementsAre(-8, 0, -8));
  EXPECT_THAT(weights, ElementsAre(0.25F, 0.25F, 0.25F));
}

TEST(GaussianWeights, HandsOnErrors) {
  const Recorder torch;
  const std::vector<float> positions{-2, 0, 2};
  std::vector<float> weights(3);
  EXPECT_EQ(GaussianWeights(torch, positions, 0.5F, 2, weights).code(), Code::kInternal);
  EXPECT_THAT(torch.asked, ElementsAre(-16, 0, -16));
}

}  // namespace
}  // namespace headrace::ops::testing
