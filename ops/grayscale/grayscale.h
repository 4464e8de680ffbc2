#pragma once

#include "ops/core/op.h"

namespace headrace::ops {

// PIL's convert("L"), repeated over 3 channels where asked.
class GrayscaleSchema final : public OpSchema {
 public:
  explicit GrayscaleSchema(int channels) : channels_(channels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.channels = channels_;
    return out;
  }

 private:
  int channels_;
};

}  // namespace headrace::ops
