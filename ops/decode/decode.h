#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// PIL.Image.open(file).convert("RGB") for JPEG and PNG files.
class DecodeSchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  // What a file's header says.
  [[nodiscard]] std::optional<TensorSpec> SourceSpec() const override {
    return TensorSpec{DType::kU8, Layout::kHwc, {Dims::kAny, Dims::kAny, 3}};
  }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    return {in.height, in.width, 3, DType::kU8, Layout::kHwc};
  }
};

}  // namespace headrace::ops
