#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL image to a uint8 CHW tensor.
class PilToTensorSchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.layout = Layout::kChw;
    out.dtype = DType::kU8;
    return out;
  }
  [[nodiscard]] bool maps() const override { return true; }
};

}  // namespace headrace::ops
