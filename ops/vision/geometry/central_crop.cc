#include "ops/vision/geometry/central_crop.h"

#include "ops/core/schema_util.h"

namespace headrace::ops {

Window CentralCrop(const ImageSpec& in, double min_ratio, double max_ratio) {
  std::int64_t width = in.width;
  std::int64_t height = in.height;
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < min_ratio) {
    height = RoundHalfEven(static_cast<double>(width) / min_ratio);
  } else if (ratio > max_ratio) {
    width = RoundHalfEven(static_cast<double>(height) * max_ratio);
  }
  return {(in.height - height) / 2, (in.width - width) / 2, height, width};
}

}  // namespace headrace::ops
