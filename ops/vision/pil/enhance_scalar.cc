#include <algorithm>
#include <cstdlib>

#include "ops/vision/pil/blend.h"
#include "ops/vision/pil/enhance_kernels.h"
#include "ops/vision/pil/luma.h"

namespace headrace::ops {
namespace {

template <typename PerPixel>
void ForEach(const PixelRun& run, PerPixel per_pixel) {
  std::uint8_t* const end = run.data + run.pixels * run.pixel_stride;
  for (std::uint8_t* p = run.data; p != end; p += run.pixel_stride) per_pixel(p);
}

// dividend / divisor, rounded to the nearest, for odd divisors. REQUIRES: not negative.
constexpr int Divide(int dividend, int divisor) { return (dividend + divisor / 2) / divisor; }

void TurnHue(const PixelRun& run, std::uint8_t shift) {
  ForEach(run, [shift](std::uint8_t* p) {
    const int r = p[0], g = p[1], b = p[2];
    const int most = std::max({r, g, b}), least = std::min({r, g, b});
    if (most == least) return;  // gray
    const int range = most - least, middle = r + g + b - most - least;
    const int order = (r < g ? 1 : 0) + (g < b ? 2 : 0) + (b < r ? 4 : 0);

    const float part = static_cast<float>(most - middle) / static_cast<float>(range);
    const float sixths = kHueBase[order] + ((kFallingOrders >> order & 1) != 0 ? -part : part);
    const float turned = sixths / 6.0F + (sixths < 0.0F ? 1.0F : 0.0F);
    const int hue = (static_cast<int>(turned * 255.0F) + shift) & 255;

    const int saturation = 255 * range / most;
    const int away = std::abs(kThird - 2 * (hue % kThird));
    const std::uint8_t values[3] = {
        static_cast<std::uint8_t>(most),
        static_cast<std::uint8_t>(Divide(most * (kWhole - saturation * away), kWhole)),
        static_cast<std::uint8_t>(Divide(most * (255 - saturation), 255))};
    const std::uint8_t* places = kPlaces[hue * kSixths >> 16];
    for (int c = 0; c < 3; ++c) p[c] = values[places[c]];
  });
}

void BlendWithLuma(const PixelRun& run, float factor) {
  ForEach(run, [factor](std::uint8_t* p) {
    const int gray = Luma(p[0], p[1], p[2]);
    for (int c = 0; c < 3; ++c) p[c] = Blend(gray, p[c], factor);
  });
}

std::uint64_t SumLuma(const PixelRun& run) {
  std::uint64_t sum = 0;
  ForEach(run, [&sum](const std::uint8_t* p) { sum += Luma(p[0], p[1], p[2]); });
  return sum;
}

}  // namespace

const EnhanceKernels kScalarEnhance = {TurnHue, BlendWithLuma, SumLuma};

}  // namespace headrace::ops
