#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// cv2.cvtColor of pixels of 8 bits.
class CvCvtColorSchema final : public ImageSchema {
 public:
  CvCvtColorSchema(int code, int channels) : code_(code), channels_(channels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] ImageSpec OutputKind(const ImageSpec& in) const override {
    ImageSpec out = in;
    out.channels = channels_;
    return out;
  }
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_, channels_;
};

}  // namespace headrace::ops
