#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "ops/vision/image.h"

// What Pillow's transforms share. Source: libImaging/Geometry.c. Each path computes as Pillow's
// does, in its order, since the bits of a coordinate decide about the pixel.
namespace headrace::ops {

using PilFill = std::array<std::uint8_t, 3>;

// The source's pixels, at coordinates that may lie anywhere.
class PilSource {
 public:
  explicit PilSource(const Image& in)
      : in_(in),
        last_x_(in.spec.width - 1),
        last_y_(in.spec.height - 1),
        width_(static_cast<double>(in.spec.width)),
        height_(static_cast<double>(in.spec.height)) {}

  [[nodiscard]] std::int64_t width() const { return in_.spec.width; }
  [[nodiscard]] std::int64_t height() const { return in_.spec.height; }
  [[nodiscard]] bool HasColumn(double x) const { return x >= 0.0 && x < width_; }
  [[nodiscard]] bool HasRow(double y) const { return y >= 0.0 && y < height_; }
  [[nodiscard]] bool HasRow(std::int64_t y) const { return y >= 0 && y <= last_y_; }
  [[nodiscard]] std::int64_t ClipX(std::int64_t x) const {
    return std::clamp<std::int64_t>(x, 0, last_x_);
  }
  [[nodiscard]] std::int64_t ClipY(std::int64_t y) const {
    return std::clamp<std::int64_t>(y, 0, last_y_);
  }
  // REQUIRES: (y, x) is inside.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return in_.At(y, x);
  }

 private:
  const Image& in_;
  std::int64_t last_x_, last_y_;
  double width_, height_;
};

template <std::size_t kChannels>
void PutPixel(const std::uint8_t* pixel, std::uint8_t* out) {
  std::memcpy(out, pixel, kChannels);
}

// A place in the source, in pixels; the middle of the first pixel is (0.5, 0.5).
struct PilPoint {
  double x, y;
};

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

// ImagingGenericTransform, of a window of its result: a pixel with the middle (x, y) is what
// filter(point, pixel) makes of the source around the point from(x, y), or the fill if that is
// outside.
template <std::size_t kChannels, typename From, typename Filter>
void PilTransform(const PilSource& source, const Window& part, const PilFill& fill,
                  std::uint8_t* out, From from, Filter filter) {
  for (std::int64_t row = part.top; row < part.top + part.height; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    for (std::int64_t column = part.left; column < part.left + part.width;
         ++column, out += kChannels) {
      const PilPoint at = from(static_cast<double>(column) + 0.5, y);
      if (source.HasColumn(at.x) && source.HasRow(at.y)) {
        filter(at, out);
      } else {
        PutPixel<kChannels>(fill.data(), out);
      }
    }
  }
}

}  // namespace headrace::ops
