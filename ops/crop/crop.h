#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL's Image.crop: a window of the image, with zeros outside the image.
class CropSchema final : public ImageSchema {
 public:
  explicit CropSchema(const Window& window) : window_(window) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override {
    *out = in;
    out->height = window_.height;
    out->width = window_.width;
    return Status::Ok();
  }
  [[nodiscard]] const Window& window() const { return window_; }

 private:
  Window window_;
};

}  // namespace headrace::ops
