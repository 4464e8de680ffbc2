#pragma once

#include <utility>

#include "ops/vision/augment/augment_space.h"

namespace headrace::ops {

// torchvision's RandAugment on PIL images and u8 tensors. Params: num_ops operations
// (AugmentSpace::Write).
class RandAugmentSchema final : public AugmentSchema {
 public:
  RandAugmentSchema(AugmentSpace space, std::int64_t num_ops)
      : AugmentSchema(std::move(space)), num_ops_(num_ops) {}
  [[nodiscard]] int param_words() const override {
    return static_cast<int>(num_ops_) * static_cast<int>(AugmentSpace::kWords);
  }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  std::int64_t num_ops_;
};

}  // namespace headrace::ops
