#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// PIL image to a uint8 CHW tensor; tensors stay as they are.
class ToImageSchema final : public OpSchema {
 public:
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.layout = Layout::kChw;
    return out;
  }
};

}  // namespace headrace::ops
