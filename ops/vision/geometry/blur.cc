#include "ops/vision/geometry/blur.h"

#include <algorithm>

#include "ops/vision/geometry/border.h"

namespace headrace::ops {

Status CheckBlur(const ImageSpec& image, std::int64_t columns, std::int64_t rows) {
  const std::int64_t x = columns / 2, y = rows / 2;
  HR_RETURN_IF_ERROR(CheckBorder(image.width, x, x, PaddingMode::kReflect));
  HR_RETURN_IF_ERROR(CheckBorder(image.height, y, y, PaddingMode::kReflect));
  // torch has oneDNN convolve several channels, large kernels and large images, and a product of
  // matrices the others. One weight leaves no order.
  constexpr std::int64_t kSmallKernel = 3, kSmallImage = 20480;
  const std::int64_t padded = (image.width + 2 * x) * (image.height + 2 * y);
  const bool small = std::min(columns, rows) <= kSmallKernel && padded <= kSmallImage;
  if (image.channels == 1 && small && std::max(columns, rows) > 1) {
    return Unsupported("torch sums small images of one channel in another order");
  }
  return Status::Ok();
}

bool AreBlurWeights(std::span<const float> weights) {
  constexpr double kMost = 1.0005;
  double sum = 0;
  for (const float weight : weights) {
    if (!(weight >= 0)) return false;
    sum += static_cast<double>(weight);
  }
  return sum <= kMost;
}

}  // namespace headrace::ops
