#pragma once

#include <array>
#include <utility>
#include <vector>

#include "ops/vision/augment/augment_space.h"

namespace headrace::ops {

// torchvision's AutoAugment on PIL images and u8 tensors. Params: two operations
// (AugmentSpace::Write).
class AutoAugmentSchema final : public AugmentSchema {
 public:
  static constexpr std::size_t kSteps = 2;
  struct Step {
    AugmentOp op = AugmentOp::kIdentity;
    float probability = 0;
    std::int64_t level = 0;
  };
  using Policy = std::array<Step, kSteps>;

  AutoAugmentSchema(AugmentSpace space, std::vector<Policy> policies)
      : AugmentSchema(std::move(space)), policies_(std::move(policies)) {}
  [[nodiscard]] int param_words() const override { return kSteps * AugmentSpace::kWords; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  std::vector<Policy> policies_;
};

}  // namespace headrace::ops
