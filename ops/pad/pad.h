#pragma once

#include "ops/vision/schema_util.h"

namespace headrace::ops {

// F.pad. With `least`, it also pads on the right and at the bottom up to that size.
class PadSchema final : public ImageSchema {
 public:
  PadSchema(const Padding& padding, Size least, PaddingMode mode, const ChannelValues& fill)
      : padding_(padding), least_(least), mode_(mode), fill_(fill) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  // For an image of a known size.
  [[nodiscard]] Padding PaddingOf(const ImageSpec& in) const;
  [[nodiscard]] PaddingMode mode() const { return mode_; }
  [[nodiscard]] const ChannelValues& fill() const { return fill_; }

 private:
  Padding padding_;
  Size least_;
  PaddingMode mode_;
  ChannelValues fill_;
};

}  // namespace headrace::ops
