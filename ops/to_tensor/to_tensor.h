#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL image to a float32 CHW tensor: each value divided by 255.
class ToTensorSchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.layout = Layout::kChw;
    out.dtype = DType::kF32;
    return out;
  }
  [[nodiscard]] bool maps() const override { return true; }
  [[nodiscard]] double Map(int channel, double value) const override;
};

}  // namespace headrace::ops
