#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// Image.fromarray(row): rows of an array in memory as PIL images.
class FromArraySchema final : public ImageSchema {
 public:
  explicit FromArraySchema(int channels) : channels_(channels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] std::optional<TensorSpec> SourceSpec() const override {
    return TensorSpec{DType::kU8, Layout::kPlain, {Dims::kAny, Dims::kAny, channels_}};
  }
  [[nodiscard]] Result<ImageSpec> ReadInput(const TensorSpec& in) const override {
    return ImageSpec::FromRow(in);
  }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    return {in.height, in.width, channels_, DType::kU8, Layout::kHwc};
  }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;

 private:
  int channels_;
};

}  // namespace headrace::ops
