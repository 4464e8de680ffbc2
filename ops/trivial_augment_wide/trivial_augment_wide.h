#pragma once

#include <utility>

#include "ops/vision/augment/augment_space.h"

namespace headrace::ops {

// torchvision's TrivialAugmentWide on PIL images and u8 tensors. Params: one operation
// (AugmentSpace::Write).
class TrivialAugmentWideSchema final : public AugmentSchema {
 public:
  TrivialAugmentWideSchema(AugmentSpace space, std::int64_t bins)
      : AugmentSchema(std::move(space)), bins_(bins) {}
  [[nodiscard]] int param_words() const override { return AugmentSpace::kWords; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  std::int64_t bins_;
};

}  // namespace headrace::ops
