#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// cv2.resize of pixels of 8 bits. Both sides are given, or one of them, and the other keeps the
// proportion as albumentations rounds it.
class CvResizeSchema final : public ImageSchema {
 public:
  enum class Rule : std::uint8_t { kSides, kLongest, kShortest };

  // `interpolation`: OpenCV's number.
  CvResizeSchema(Rule rule, std::int64_t height, std::int64_t width, int interpolation)
      : rule_(rule), height_(height), width_(width), interpolation_(interpolation) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] int interpolation() const { return interpolation_; }

 private:
  Rule rule_;
  std::int64_t height_, width_;  // the same, where it is one side
  int interpolation_;
};

}  // namespace headrace::ops
