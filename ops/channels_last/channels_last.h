#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// The elements of a tensor CHW in the order HWC, which torch keeps where it makes a tensor of a
// picture's own memory. The last node of a value.
class ChannelsLastSchema final : public ImageSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.layout = Layout::kHwc;
    return out;
  }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
};

}  // namespace headrace::ops
