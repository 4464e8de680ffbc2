#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// Image.fromarray(row): rows of an array in memory as PIL images.
class FromArraySchema final : public OpSchema {
 public:
  explicit FromArraySchema(int channels) : channels_(channels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    return {in.height, in.width, channels_, DType::kU8, Layout::kHwc};
  }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;

 private:
  int channels_;
};

}  // namespace headrace::ops
