#pragma once

#include "ops/vision/image_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// One of the five crops that F.five_crop returns.
class FiveCropSchema final : public ImageSchema {
 public:
  // The places in the tuple of F.five_crop.
  enum Part : std::int64_t { kTopLeft, kTopRight, kBottomLeft, kBottomRight, kCenter };

  FiveCropSchema(Size size, Part part) : size_(size), part_(part) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  // kInvalidArgument: the image is smaller than the crop.
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  // The crop in coordinates of the image. REQUIRES: Shape accepts the image.
  [[nodiscard]] Window CropOf(const ImageSpec& in) const;

 private:
  Size size_;
  Part part_;
};

}  // namespace headrace::ops
