#pragma once

#include "ops/vision/schema_util.h"

namespace headrace::ops {

// F.pad.
class PadSchema final : public ImageSchema {
 public:
  PadSchema(const Padding& padding, PaddingMode mode, const ChannelValues& fill)
      : padding_(padding), mode_(mode), fill_(fill) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Padding& padding() const { return padding_; }
  [[nodiscard]] PaddingMode mode() const { return mode_; }
  [[nodiscard]] const ChannelValues& fill() const { return fill_; }

 private:
  Padding padding_;
  PaddingMode mode_;
  ChannelValues fill_;
};

}  // namespace headrace::ops
