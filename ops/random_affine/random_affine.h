#pragma once

#include <optional>
#include <vector>

#include "ops/vision/geometry/affine_schema.h"

namespace headrace::ops {

// torchvision's RandomAffine on PIL images and u8 tensors.
class RandomAffineSchema final : public AffineSchema {
 public:
  struct Options {
    UniformBounds degrees;
    std::vector<double> translate;  // parts of width and height, or nothing
    std::optional<UniformBounds> scale;
    std::vector<UniformBounds> shear;  // in degrees: none, along x, or along x and y
    std::optional<Point> center;
  };

  RandomAffineSchema(const Pixels& pixels, Options options)
      : AffineSchema(pixels), options_(std::move(options)) {}
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;

 private:
  Options options_;
};

}  // namespace headrace::ops
