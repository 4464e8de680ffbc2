#pragma once

#include <optional>

#include "ops/vision/geometry/affine_schema.h"

namespace headrace::ops {

// torchvision's RandomRotation on PIL images and u8 tensors; the size stays.
class RandomRotationSchema final : public AffineSchema {
 public:
  RandomRotationSchema(const Pixels& pixels, UniformBounds degrees, std::optional<Point> center)
      : AffineSchema(pixels), degrees_(degrees), center_(center) {}
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  [[nodiscard]] Motion OfPil(double degrees, const ImageSpec& in) const;
  [[nodiscard]] Motion OfTensor(double degrees, const ImageSpec& in) const;

  UniformBounds degrees_;
  std::optional<Point> center_;
};

}  // namespace headrace::ops
