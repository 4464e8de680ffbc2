#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// torchvision's RandomGrayscale of PIL images. Params: 1 to convert, else 0.
class RandomGrayscaleSchema final : public OpSchema {
 public:
  explicit RandomGrayscaleSchema(double p) : p_(p) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 1; }
  Status Draw(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
              ImageSpec* out) const override;

 private:
  double p_;
};

}  // namespace headrace::ops
