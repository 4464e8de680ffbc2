#include "ops/vision/pil/sharpness.h"

#include <algorithm>
#include <cstring>

#include "ops/vision/pil/blend.h"

namespace headrace::ops {
namespace {

// ImageFilter.SMOOTH: the pixel 5 times, its neighbours once, by 13.
constexpr float kNear = 1.0F / 13.0F;
constexpr float kCenter = 5.0F / 13.0F;

// Sums in the order of libImaging/Filter.c, ImagingFilter3x3: the row below comes first.
template <std::size_t kStride, std::size_t kChannels>
void Row(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
         std::size_t width, float factor, std::uint8_t* out) {
  const auto three = [](const std::uint8_t* p, float middle) {
    return static_cast<float>(*(p - kStride)) * kNear + static_cast<float>(*p) * middle +
           static_cast<float>(*(p + kStride)) * kNear;
  };
  for (std::size_t x = 1; x + 1 < width; ++x) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      const std::size_t at = x * kStride + c;
      float sum = 0.5F;  // to round
      sum += three(below + at, kNear);
      sum += three(row + at, kCenter);
      sum += three(above + at, kNear);
      const int smooth = static_cast<int>(std::clamp(sum, 0.0F, 255.0F));
      out[x * kChannels + c] = Blend(smooth, row[at], factor);
    }
  }
}

template <std::size_t kStride, std::size_t kChannels>
void Rows(const Image& in, float factor, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(in.spec.width);
  const std::int64_t height = in.spec.height;
  for (std::int64_t y = 0; y < height; ++y, out += width * kChannels) {
    const std::uint8_t* row = in.At(y, 0);
    // The border is not filtered, nor is an image that is smaller than the filter.
    for (std::size_t x = 0; x < width; ++x) {
      std::memcpy(out + x * kChannels, row + x * kStride, kChannels);
    }
    if (y == 0 || y + 1 == height) continue;
    Row<kStride, kChannels>(in.At(y - 1, 0), row, in.At(y + 1, 0), width, factor, out);
  }
}

}  // namespace

void AdjustSharpness(const Image& in, float factor, std::uint8_t* out) {
  if (in.spec.channels == 1) {
    if (in.pixel_stride == 1) return Rows<1, 1>(in, factor, out);
    if (in.pixel_stride == 3) return Rows<3, 1>(in, factor, out);
    return Rows<4, 1>(in, factor, out);
  }
  if (in.pixel_stride == 3) return Rows<3, 3>(in, factor, out);
  Rows<4, 3>(in, factor, out);
}

}  // namespace headrace::ops
