#pragma once

#include <cstdint>

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// torchvision v2's ScaleJitter: the image is resized to fit into a target, times a drawn scale. Params:
// height and width of the output.
class ScaleJitterSchema final : public ImageSchema {
 public:
  ScaleJitterSchema(double along_height, double along_width, double low, double high,
                    const Resizing& resizing)
      : along_height_(along_height),
        along_width_(along_width),
        low_(low),
        high_(high),
        resizing_(resizing) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return 2; }
  [[nodiscard]] bool draws_shape() const override { return true; }
  Status DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const override;
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] const Resizing& resizing() const { return resizing_; }

 private:
  // The output for a number in [0, 1), without a look at its size.
  [[nodiscard]] Result<ImageSpec> Scaled(const ImageSpec& in, float number) const;

  double along_height_, along_width_, low_, high_;
  Resizing resizing_;
};

}  // namespace headrace::ops
