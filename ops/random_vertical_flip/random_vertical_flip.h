#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's RandomVerticalFlip. Params: 1 to flip, else 0.
class RandomVerticalFlipSchema final : public ImageSchema {
 public:
  explicit RandomVerticalFlipSchema(double p) : p_(p) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] bool reorders() const override { return true; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  double p_;
};

}  // namespace headrace::ops
