#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// PIL.Image.open(file).convert("RGB") for JPEG and PNG files.
class DecodeSchema final : public OpSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    return {in.height, in.width, 3, DType::kU8, Layout::kHwc};
  }
};

}  // namespace headrace::ops
