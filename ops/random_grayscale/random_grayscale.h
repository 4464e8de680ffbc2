#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// torchvision's RandomGrayscale on PIL images and tensors of uint8 or float32. Params: 1 to convert, else 0.
class RandomGrayscaleSchema final : public ImageSchema {
 public:
  RandomGrayscaleSchema(double p, bool tensor, int api) : p_(p), tensor_(tensor), api_(api) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] bool tensor() const { return tensor_; }
  [[nodiscard]] int api() const { return api_; }

 private:
  double p_;
  bool tensor_;
  int api_;
};

}  // namespace headrace::ops
