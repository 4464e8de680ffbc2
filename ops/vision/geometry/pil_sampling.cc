#include "ops/vision/geometry/pil_sampling.h"

#include <cmath>

#include "ops/vision/geometry/pil_sampling_avx2.h"

namespace headrace::ops {
namespace {

// bilinear_filter8 and bilinear_filter32RGB, around (x, y), which is inside.
template <std::size_t kChannels>
void PilBilinear(const PilSource& source, PilPoint at, std::uint8_t* out) {
  const double x = at.x - 0.5;
  const double y = at.y - 0.5;
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double dx = x - left;
  const double dy = y - top;
  const auto row = static_cast<std::int64_t>(top);
  const std::int64_t x0 = source.ClipX(static_cast<std::int64_t>(left));
  const std::int64_t x1 = source.ClipX(static_cast<std::int64_t>(left) + 1);
  const std::int64_t y0 = source.ClipY(row);
  const std::int64_t y1 = source.ClipY(row + 1);
  const std::uint8_t* a = source.At(y0, x0);
  const std::uint8_t* b = source.At(y0, x1);
  const std::uint8_t* c = source.At(y1, x0);
  const std::uint8_t* d = source.At(y1, x1);
  for (std::size_t i = 0; i < kChannels; ++i) {
    const double above = a[i] + (b[i] - a[i]) * dx;
    const double below = c[i] + (d[i] - c[i]) * dx;
    out[i] = static_cast<std::uint8_t>(above + (below - above) * dy);
  }
}

inline double Cubic(double v1, double v2, double v3, double v4, double d) {
  const double p1 = v2;
  const double p2 = -v1 + v3;
  const double p3 = 2 * (v1 - v2) + v3 - v4;
  const double p4 = -v1 + v2 - v3 + v4;
  return p1 + d * (p2 + d * (p3 + d * p4));
}

// bicubic_filter8 and bicubic_filter32RGB, as above.
template <std::size_t kChannels>
void PilBicubic(const PilSource& source, PilPoint at, std::uint8_t* out) {
  const double x = at.x - 0.5;
  const double y = at.y - 0.5;
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double dx = x - left;
  const double dy = y - top;
  const auto row = static_cast<std::int64_t>(top) - 1;
  const auto column = static_cast<std::int64_t>(left) - 1;
  std::int64_t columns[4];
  for (std::int64_t i = 0; i < 4; ++i) columns[i] = source.ClipX(column + i);
  for (std::size_t i = 0; i < kChannels; ++i) {
    double v[4];
    for (std::int64_t k = 0; k < 4; ++k) {
      // A row that is missing below repeats the computed result of the row before it.
      if (k > 0 && !source.HasRow(row + k)) {
        v[k] = v[k - 1];
        continue;
      }
      const std::int64_t from = source.ClipY(row + k);
      v[k] = Cubic(source.At(from, columns[0])[i], source.At(from, columns[1])[i],
                   source.At(from, columns[2])[i], source.At(from, columns[3])[i], dx);
    }
    const double value = Cubic(v[0], v[1], v[2], v[3], dy);
    out[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
}

// nearest_filter8 and nearest_filter32
template <std::size_t kChannels>
void PilNearest(const PilSource& source, PilPoint at, std::uint8_t* out) {
  PutPixel<kChannels>(source.At(static_cast<std::int64_t>(at.y), static_cast<std::int64_t>(at.x)),
                      out);
}

template <std::size_t kChannels, void (*kFilter)(const PilSource&, PilPoint, std::uint8_t*)>
void Sample(const PilSource& source, std::span<const PilPoint> points, const PilFill& fill,
            std::uint8_t* out) {
  for (const PilPoint& at : points) {
    if (source.HasColumn(at.x) && source.HasRow(at.y)) {
      kFilter(source, at, out);
    } else {
      PutPixel<kChannels>(fill.data(), out);
    }
    out += kChannels;
  }
}

template <std::size_t kChannels>
PilSampler SamplerOf(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kBilinear:
      return &Sample<kChannels, &PilBilinear<kChannels>>;
    case Interpolation::kBicubic:
      return &Sample<kChannels, &PilBicubic<kChannels>>;
    default:
      return &Sample<kChannels, &PilNearest<kChannels>>;
  }
}

}  // namespace

PilSampler PilSamplerOf(Interpolation interpolation, std::int32_t channels, bool vectors) {
  if (channels == 1) return SamplerOf<1>(interpolation);
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (vectors && kHasAvx2) {
    if (interpolation == Interpolation::kBilinear) return &PilBilinearAvx2;
    if (interpolation == Interpolation::kBicubic) return &PilBicubicAvx2;
  }
#endif
  return SamplerOf<3>(interpolation);
}

}  // namespace headrace::ops
