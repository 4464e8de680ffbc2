#include "ops/image/enhance.h"

#include <algorithm>
#include <cmath>

#include "ops/core/luma.h"
#include "ops/image/blend.h"
#include "ops/image/byte_map.h"

namespace headrace::ops {
namespace {

void BlendWithConstant(const Canvas& image, int degenerate, float factor) {
  MapValues(image, MakeByteTable([&](int v) { return Blend(degenerate, v, factor); }));
}

// int(ImageStat.Stat(image.convert("L")).mean[0] + 0.5)
int MeanLuma(const Canvas& image) {
  std::uint64_t sum = 0;
  if (image.spec.channels == 1) {
    ForEachPixel(image, [&](const std::uint8_t* p) { sum += p[0]; });
  } else {
    ForEachPixel(image, [&](const std::uint8_t* p) { sum += Luma(p[0], p[1], p[2]); });
  }
  const auto count = static_cast<double>(image.spec.height * image.spec.width);
  return static_cast<int>(static_cast<double>(sum) / count + 0.5);
}

std::uint8_t Clip8(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

struct Hsv {
  std::uint8_t h, s, v;
};

// Source: libImaging/Convert.c, rgb2hsv_row. Mixes float and double where it does.
Hsv ToHsv(std::uint8_t r, std::uint8_t g, std::uint8_t b) {
  const std::uint8_t most = std::max({r, g, b});
  const std::uint8_t least = std::min({r, g, b});
  if (most == least) return {0, 0, most};
  const auto range = static_cast<float>(most - least);
  const float saturation = range / static_cast<float>(most);
  const float rc = static_cast<float>(most - r) / range;
  const float gc = static_cast<float>(most - g) / range;
  const float bc = static_cast<float>(most - b) / range;
  float hue = 0;
  if (r == most) {
    hue = bc - gc;
  } else if (g == most) {
    hue = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  } else {
    hue = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
  }
  // In 0..2, so that fmod by 1 is a subtraction.
  const double turned = static_cast<double>(hue) / 6.0 + 1.0;
  hue = static_cast<float>(turned - std::floor(turned));
  return {Clip8(static_cast<int>(static_cast<double>(hue) * 255.0)),
          Clip8(static_cast<int>(static_cast<double>(saturation) * 255.0)), most};
}

// round() of a number that is not negative.
int Round(double x) { return static_cast<int>(std::floor(x + 0.5)); }

// Source: libImaging/Convert.c, hsv2rgb.
void ToRgb(Hsv hsv, std::uint8_t* rgb) {
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.v;
    return;
  }
  const double scaled = static_cast<double>(static_cast<float>(hsv.h)) * 6.0 / 255.0;
  const int sector = static_cast<int>(scaled);
  const auto f = static_cast<float>(scaled - static_cast<double>(static_cast<float>(sector)));
  const auto fs = static_cast<float>(static_cast<double>(hsv.s) / 255.0);
  const double v = hsv.v;
  const std::uint8_t p = Clip8(Round(v * (1.0 - static_cast<double>(fs))));
  const std::uint8_t q = Clip8(Round(v * (1.0 - static_cast<double>(fs * f))));
  const std::uint8_t t =
      Clip8(Round(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f)))));
  const std::uint8_t out[6][3] = {{hsv.v, t, p}, {q, hsv.v, p}, {p, hsv.v, t},
                                  {p, q, hsv.v}, {t, p, hsv.v}, {hsv.v, p, q}};
  const std::uint8_t* chosen = out[sector % 6];
  rgb[0] = chosen[0];
  rgb[1] = chosen[1];
  rgb[2] = chosen[2];
}

}  // namespace

void AdjustBrightness(const Canvas& image, float factor) { BlendWithConstant(image, 0, factor); }

void AdjustContrast(const Canvas& image, float factor) {
  BlendWithConstant(image, MeanLuma(image), factor);
}

void AdjustSaturation(const Canvas& image, float factor) {
  if (image.spec.channels == 1) return;  // gray already: blended with itself
  ForEachPixel(image, [&](std::uint8_t* p) {
    const int gray = Luma(p[0], p[1], p[2]);
    p[0] = Blend(gray, p[0], factor);
    p[1] = Blend(gray, p[1], factor);
    p[2] = Blend(gray, p[2], factor);
  });
}

void AdjustHue(const Canvas& image, float factor) {
  if (image.spec.channels == 1) return;
  // np.int32(factor * 255).astype(np.uint8): truncated, then wrapped.
  const auto shift =
      static_cast<std::uint8_t>(static_cast<std::int32_t>(static_cast<double>(factor) * 255.0));
  ForEachPixel(image, [&](std::uint8_t* p) {
    Hsv hsv = ToHsv(p[0], p[1], p[2]);
    hsv.h = static_cast<std::uint8_t>(hsv.h + shift);
    ToRgb(hsv, p);
  });
}

}  // namespace headrace::ops
