#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL's convert("L"), or torchvision's rgb_to_grayscale on tensors of uint8 or float32. Repeats the result over 3
// channels on request.
class GrayscaleSchema final : public ImageSchema {
 public:
  GrayscaleSchema(int channels, bool tensor, int api)
      : channels_(channels), tensor_(tensor), api_(api) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    // v1 leaves tensors of one channel as they are.
    out.channels = tensor_ && api_ == 1 && in.channels == 1 ? 1 : channels_;
    return out;
  }
  [[nodiscard]] bool tensor() const { return tensor_; }
  [[nodiscard]] int api() const { return api_; }

 private:
  int channels_;
  bool tensor_;
  int api_;
};

}  // namespace headrace::ops
