#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ops/vision/geometry/affine_schema.h"

namespace headrace::ops {

// torchvision's RandomRotation on PIL images and u8 tensors; the size stays. From Python's generator
// the angle is random.uniform's of two bounds, or random.choice's of several angles.
class RandomRotationSchema final : public AffineSchema {
 public:
  struct OfPython {
    std::vector<double> bounds, choices;  // one of them is empty
  };
  RandomRotationSchema(const Pixels& pixels, UniformBounds degrees, std::optional<Point> center)
      : AffineSchema(pixels), degrees_(degrees), center_(center) {}
  RandomRotationSchema(const Pixels& pixels, OfPython of_python, std::optional<Point> center)
      : AffineSchema(pixels), of_python_(std::move(of_python)), center_(center) {}
  Status DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                   ImageSpec* out) const override;
  [[nodiscard]] bool draws_from_python() const override { return of_python_.has_value(); }
  Status DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng, MutableParams params,
                             ImageSpec* out) const override;

 private:
  Status Rotate(double degrees, const ImageSpec& in, MutableParams params, ImageSpec* out) const;
  [[nodiscard]] Motion OfPil(double degrees, const ImageSpec& in) const;
  [[nodiscard]] Motion OfTensor(double degrees, const ImageSpec& in) const;

  UniformBounds degrees_;
  std::optional<OfPython> of_python_;
  std::optional<Point> center_;
};

}  // namespace headrace::ops
