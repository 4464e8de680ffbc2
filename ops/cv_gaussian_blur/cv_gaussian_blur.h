#pragma once

#include "ops/vision/image_schema.h"

namespace headrace::ops {

// cv2.GaussianBlur of pixels of 8 bits.
class CvGaussianBlurSchema final : public ImageSchema {
 public:
  struct Kernel {
    int width = 0, height = 0;  // 0: from sigma
    double sigma_x = 0, sigma_y = 0;
    int border = 0;  // cv::BorderTypes
  };
  explicit CvGaussianBlurSchema(const Kernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }

 private:
  Kernel kernel_;
};

}  // namespace headrace::ops
