#pragma once

#include <array>

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// cv2.warpAffine of pixels of 8 bits.
class CvWarpAffineSchema final : public ImageSchema {
 public:
  struct Warp {
    std::array<double, 6> matrix{};  // row by row
    int flags = 0;                   // cv::InterpolationFlags
    int border = 0;                  // cv::BorderTypes
    std::array<double, 4> outside{};
    std::int64_t version = 0;  // of the program's cv2, its major one
  };
  CvWarpAffineSchema(std::int64_t height, std::int64_t width, const Warp& warp)
      : height_(height), width_(width), warp_(warp) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Warp& warp() const { return warp_; }

 private:
  std::int64_t height_, width_;
  Warp warp_;
};

}  // namespace headrace::ops
