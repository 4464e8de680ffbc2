#include "ops/vision/pil/sharpness.h"

#include <algorithm>
#include <cstring>

#include "ops/vision/pil/blend.h"
#include "ops/vision/pil/sharpness_row.h"

namespace headrace::ops {
namespace {

// Sums in the order of libImaging/Filter.c, ImagingFilter3x3: the row below comes first. `begin`: a
// value of `in`, whose pixel and channel it is.
template <std::size_t kStride, std::size_t kChannels>
void Row(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
         std::size_t width, std::size_t begin, float factor, std::uint8_t* out) {
  const auto three = [](const std::uint8_t* p, float middle) {
    return static_cast<float>(*(p - kStride)) * kSmoothNear + static_cast<float>(*p) * middle +
           static_cast<float>(*(p + kStride)) * kSmoothNear;
  };
  for (std::size_t value = begin; value < (width - 1) * kChannels; ++value) {
    const std::size_t at = value / kChannels * kStride + value % kChannels;
    float sum = 0.5F;  // to round
    sum += three(below + at, kSmoothNear);
    sum += three(row + at, kSmoothCenter);
    sum += three(above + at, kSmoothNear);
    const int smooth = static_cast<int>(std::clamp(sum, 0.0F, 255.0F));
    out[value] = Blend(smooth, row[at], factor);
  }
}

// Values of the row's inside that were made at once, from its begin on.
template <std::size_t kStride, std::size_t kChannels>
std::size_t Most(const SharpnessRow& in, float factor, PointwiseLevel level, std::uint8_t* out) {
#if defined(__x86_64__)
  if (kStride == kChannels && level >= PointwiseLevel::kAvx2) {
    return SharpenRowAvx2(in, factor, out);
  }
#endif
  return kChannels;
}

template <std::size_t kStride, std::size_t kChannels>
void Rows(const Image& in, float factor, PointwiseLevel level, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(in.spec.width);
  const std::int64_t height = in.spec.height;
  for (std::int64_t y = 0; y < height; ++y, out += width * kChannels) {
    const std::uint8_t* row = in.At(y, 0);
    // The border is not filtered, nor is an image that is smaller than the filter.
    for (std::size_t x = 0; x < width; ++x) {
      std::memcpy(out + x * kChannels, row + x * kStride, kChannels);
    }
    if (y == 0 || y + 1 == height || width < 3) continue;
    const std::uint8_t *above = in.At(y - 1, 0), *below = in.At(y + 1, 0);
    const std::size_t begin = Most<kStride, kChannels>(
        {above, row, below, width * kChannels, kChannels}, factor, level, out);
    Row<kStride, kChannels>(above, row, below, width, begin, factor, out);
  }
}

}  // namespace

void AdjustSharpness(const Image& in, float factor, std::uint8_t* out, PointwiseLevel level) {
  if (in.spec.channels == 1) {
    if (in.pixel_stride == 1) return Rows<1, 1>(in, factor, level, out);
    if (in.pixel_stride == 3) return Rows<3, 1>(in, factor, level, out);
    return Rows<4, 1>(in, factor, level, out);
  }
  if (in.pixel_stride == 3) return Rows<3, 3>(in, factor, level, out);
  Rows<4, 3>(in, factor, level, out);
}

}  // namespace headrace::ops
