#pragma once

#include "ops/vision/image_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {

// F.center_crop: pads with zeros where the image is smaller than the crop.
class CenterCropSchema final : public ImageSchema {
 public:
  explicit CenterCropSchema(Size size) : size_(size) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override {
    *out = in;
    out->height = size_.height;
    out->width = size_.width;
    return Status::Ok();
  }
  // The crop in coordinates of the image; it may lie partly outside the image.
  [[nodiscard]] Window CropOf(const ImageSpec& in) const;

 private:
  Size size_;
};

}  // namespace headrace::ops
