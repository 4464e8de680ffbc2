#pragma once

#include "ops/vision/schema_util.h"

namespace headrace::ops {

// torchvision v2's RandomZoomOut: with a probability the image is put somewhere on a larger canvas.
// Params: what is added on the left, above, on the right and below; 1 where it is, be it nothing.
class RandomZoomOutSchema final : public ImageSchema {
 public:
  RandomZoomOutSchema(double p, double low, double high, const ChannelValues& fill)
      : p_(p), low_(low), high_(high), fill_(fill) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 5; }
  [[nodiscard]] bool draws_shape() const override { return true; }
  Status DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] const ChannelValues& fill() const { return fill_; }

 private:
  double p_, low_, high_;
  ChannelValues fill_;
};

}  // namespace headrace::ops
