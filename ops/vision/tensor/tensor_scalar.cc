#include <algorithm>
#include <cmath>

#include "ops/vision/tensor/tensor_kernels.h"
#include "ops/vision/tensor/tensor_sharpen.h"

// Each operation rounds to float32 as torch's does.
namespace headrace::ops {
namespace {

float GrayOf(const std::uint8_t* p, int api) {
  const auto r = static_cast<float>(p[0]);
  const auto g = static_cast<float>(p[1]);
  const auto b = static_cast<float>(p[2]);
  const float sum = api == 1 ? 0.2989F * r + 0.587F * g + 0.114F * b
                             : std::fma(0.114F, b, std::fma(0.587F, g, 0.2989F * r));
  return std::floor(sum);
}

void Gray(const std::uint8_t* data, std::size_t pixels, std::size_t pixel_stride, int api,
          std::uint8_t* out) {
  for (std::size_t i = 0; i < pixels; ++i, data += pixel_stride) {
    out[i] = static_cast<std::uint8_t>(GrayOf(data, api));
  }
}

void BlendWithGray(const PixelRun& run, const TensorBlend& blend) {
  std::uint8_t* p = run.data;
  for (std::size_t i = 0; i < run.pixels; ++i, p += run.pixel_stride) {
    const float gray = GrayOf(p, blend.api);
    for (int c = 0; c < 3; ++c) p[c] = BlendOne(blend, static_cast<float>(p[c]), gray);
  }
}

float ToUnit(std::uint8_t value, int api) {
  const auto level = static_cast<float>(value);
  return api == 1 ? level / 255.0F : level * static_cast<float>(1.0 / 255.0);
}

// Source: torchvision's _rgb2hsv. h is in 0..1; r, g and b are not all equal.
float HueOf(float r, float g, float b, float most, float range, int api) {
  const float rc = (most - r) / range, gc = (most - g) / range, bc = (most - b) / range;
  const float sixths = most == r ? bc - gc : most == g ? (2.0F + rc) - bc : (4.0F + gc) - rc;
  const float turns = (api == 1 ? sixths / 6.0F : sixths * static_cast<float>(1.0 / 6.0)) + 1.0F;
  return turns - std::floor(turns);
}

float Unit(float value) { return std::clamp(value, 0.0F, 1.0F); }

void TurnHue(const PixelRun& run, float factor, int api) {
  std::uint8_t* pixel = run.data;
  for (std::size_t i = 0; i < run.pixels; ++i, pixel += run.pixel_stride) {
    const float r = ToUnit(pixel[0], api), g = ToUnit(pixel[1], api), b = ToUnit(pixel[2], api);
    const float most = std::max({r, g, b}), least = std::min({r, g, b});
    const bool flat = most == least;
    const float range = flat ? 1.0F : most - least;
    const float s = (most - least) / (flat ? 1.0F : most);
    float h = (flat ? 0.0F : HueOf(r, g, b, most, range, api)) + factor;
    h -= std::trunc(h);
    if (h < 0.0F) h += 1.0F;

    // Source: torchvision's _hsv2rgb.
    const float sixth = std::floor(h * 6.0F);
    const float f = h * 6.0F - sixth;
    const float sf = s * f, rest = 1.0F - s;
    const float p = Unit(most * rest);
    const float q = Unit(most * (1.0F - sf));
    const float t = Unit(most * (api == 1 ? 1.0F - s * (1.0F - f) : sf + rest));
    const float values[4] = {most, p, q, t};
    const std::uint8_t* const places = kTensorPlaces[static_cast<int>(sixth)];
    for (int c = 0; c < 3; ++c) {
      pixel[c] = static_cast<std::uint8_t>(values[places[c]] * kToBytes);
    }
  }
}

void Sharpen(const RowAndNext& rows, std::size_t channels, std::size_t first, std::size_t end,
             const TensorBlend& blend, std::uint8_t* out) {
  SharpenAny(rows, channels, first, end, blend, out);
}

}  // namespace

const TensorKernels kScalarTensor = {Gray, BlendWithGray, TurnHue, Sharpen};

}  // namespace headrace::ops
