#include "ops/vision/geometry/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/vision/geometry/affine_avx2.h"

// Source: libImaging/Geometry.c. Each path computes as Pillow's does, in its order, since the bits
// of a coordinate decide about the pixel.
namespace headrace::ops {
namespace {

using Fill = std::array<std::uint8_t, 3>;

// The source's pixels, at coordinates that may lie anywhere.
class Source {
 public:
  Source(const Image& in, PointwiseLevel level)
      : in_(in),
        last_x_(in.spec.width - 1),
        last_y_(in.spec.height - 1),
        width_(static_cast<double>(in.spec.width)),
        height_(static_cast<double>(in.spec.height)),
        by_avx2_(level != PointwiseLevel::kScalar && in.spec.channels == 3) {}

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
  // Whether three channels may be read at once, as four bytes: pixels up to (y, x), which is inside.
  [[nodiscard]] bool ByAvx2(std::int64_t y, std::int64_t x) const {
    return by_avx2_ && (y < last_y_ || x < last_x_);
  }
  // REQUIRES: (y, x) is inside.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return in_.At(y, x);
  }

 private:
  const Image& in_;
  std::int64_t last_x_, last_y_;
  double width_, height_;
  bool by_avx2_;
};

template <std::size_t kChannels>
void Put(const std::uint8_t* pixel, std::uint8_t* out) {
  std::memcpy(out, pixel, kChannels);
}

// ImagingScaleAffine: for matrices that do not mix the axes.
template <std::size_t kChannels>
void Scale(const Source& source, const AffineMatrix& m, const Fill& fill, std::uint8_t* out) {
  double y = m[5] + m[4] * 0.5;
  for (std::int64_t row = 0; row < source.height(); ++row, y += m[4]) {
    const bool has_row = source.HasRow(y);
    double x = m[2] + m[0] * 0.5;
    for (std::int64_t column = 0; column < source.width(); ++column, x += m[0], out += kChannels) {
      Put<kChannels>(has_row && source.HasColumn(x)
                         ? source.At(static_cast<std::int64_t>(y), static_cast<std::int64_t>(x))
                         : fill.data(),
                     out);
    }
  }
}

// True if the coordinates fit 16.16 fixed point.
bool FitsFixed(const AffineMatrix& m, double x, double y) {
  return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 &&
         std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
}

std::int64_t ToFixed(double v) { return static_cast<std::int64_t>(std::floor(v * 65536.0 + 0.5)); }

// affine_fixed
template <std::size_t kChannels>
void Fixed(const Source& source, const AffineMatrix& m, const Fill& fill, std::uint8_t* out) {
  const std::int64_t x_by_column = ToFixed(m[0]);
  const std::int64_t x_by_row = ToFixed(m[1]);
  const std::int64_t y_by_column = ToFixed(m[3]);
  const std::int64_t y_by_row = ToFixed(m[4]);
  std::int64_t first_x = ToFixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
  std::int64_t first_y = ToFixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (std::int64_t row = 0; row < source.height(); ++row) {
    std::int64_t x = first_x;
    std::int64_t y = first_y;
    for (std::int64_t column = 0; column < source.width(); ++column, out += kChannels) {
      const std::int64_t at_x = x >> 16;
      const std::int64_t at_y = y >> 16;
      const bool inside = at_x >= 0 && at_x < source.width() && at_y >= 0 && at_y < source.height();
      Put<kChannels>(inside ? source.At(at_y, at_x) : fill.data(), out);
      x += x_by_column;
      y += y_by_column;
    }
    first_x += x_by_row;
    first_y += y_by_row;
  }
}

// The last part of ImagingTransformAffine, for images too large for fixed point.
template <std::size_t kChannels>
void Floating(const Source& source, const AffineMatrix& m, const Fill& fill, std::uint8_t* out) {
  double first_x = m[2] + m[1] * 0.5 + m[0] * 0.5;
  double first_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
  for (std::int64_t row = 0; row < source.height(); ++row) {
    double x = first_x;
    double y = first_y;
    for (std::int64_t column = 0; column < source.width(); ++column, out += kChannels) {
      const bool inside = source.HasColumn(x) && source.HasRow(y);
      Put<kChannels>(inside ? source.At(static_cast<std::int64_t>(y), static_cast<std::int64_t>(x))
                            : fill.data(),
                     out);
      x += m[0];
      y += m[3];
    }
    first_x += m[1];
    first_y += m[4];
  }
}

template <std::size_t kChannels>
void Nearest(const Source& source, const AffineMatrix& m, const Fill& fill, std::uint8_t* out) {
  const auto width = static_cast<double>(source.width());
  const auto height = static_cast<double>(source.height());
  if (m[1] == 0 && m[3] == 0) {
    Scale<kChannels>(source, m, fill, out);
  } else if (FitsFixed(m, 0, 0) && FitsFixed(m, width, height) && FitsFixed(m, 0, height) &&
             FitsFixed(m, width, 0)) {
    Fixed<kChannels>(source, m, fill, out);
  } else {
    Floating<kChannels>(source, m, fill, out);
  }
}

// ImagingGenericTransform: filter(x, y, pixel) makes a pixel from the source around (x, y), which
// is inside.
template <std::size_t kChannels, typename Filter>
void Generic(const Source& source, const AffineMatrix& m, const Fill& fill, std::uint8_t* out,
             Filter filter) {
  for (std::int64_t row = 0; row < source.height(); ++row) {
    const double y_out = static_cast<double>(row) + 0.5;
    for (std::int64_t column = 0; column < source.width(); ++column, out += kChannels) {
      const double x_out = static_cast<double>(column) + 0.5;
      const double x = m[0] * x_out + m[1] * y_out + m[2];
      const double y = m[3] * x_out + m[4] * y_out + m[5];
      if (source.HasColumn(x) && source.HasRow(y)) {
        filter(x - 0.5, y - 0.5, out);
      } else {
        Put<kChannels>(fill.data(), out);
      }
    }
  }
}

// bilinear_filter8 and bilinear_filter32RGB
template <std::size_t kChannels>
void Bilinear(const Source& source, double x, double y, std::uint8_t* out) {
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double dx = x - left;
  const double dy = y - top;
  const auto row = static_cast<std::int64_t>(top);
  const std::int64_t x0 = source.ClipX(static_cast<std::int64_t>(left));
  const std::int64_t x1 = source.ClipX(static_cast<std::int64_t>(left) + 1);
  const std::int64_t y0 = source.ClipY(row);
  const std::int64_t y1 = source.ClipY(row + 1);
  const std::uint8_t* const corners[4] = {source.At(y0, x0), source.At(y0, x1), source.At(y1, x0),
                                          source.At(y1, x1)};
#if defined(__x86_64__)
  if (source.ByAvx2(y1, x1)) return BilinearAvx2(corners, dx, dy, out);
#endif
  for (std::size_t i = 0; i < kChannels; ++i) {
    const double above = corners[0][i] + (corners[1][i] - corners[0][i]) * dx;
    const double below = corners[2][i] + (corners[3][i] - corners[2][i]) * dx;
    out[i] = static_cast<std::uint8_t>(above + (below - above) * dy);
  }
}

double Cubic(double v1, double v2, double v3, double v4, double d) {
  const double p1 = v2;
  const double p2 = -v1 + v3;
  const double p3 = 2 * (v1 - v2) + v3 - v4;
  const double p4 = -v1 + v2 - v3 + v4;
  return p1 + d * (p2 + d * (p3 + d * p4));
}

// bicubic_filter8 and bicubic_filter32RGB
template <std::size_t kChannels>
void Bicubic(const Source& source, double x, double y, std::uint8_t* out) {
  const double left = std::floor(x);
  const double top = std::floor(y);
  const double dx = x - left;
  const double dy = y - top;
  const auto row = static_cast<std::int64_t>(top) - 1;
  const auto column = static_cast<std::int64_t>(left) - 1;
  std::int64_t columns[4];
  for (std::int64_t i = 0; i < 4; ++i) columns[i] = source.ClipX(column + i);
  const std::uint8_t* pixels[4][4];
  for (std::int64_t k = 0; k < 4; ++k) {
    // A row that is missing below repeats the one before it.
    const bool missing = k > 0 && !source.HasRow(row + k);
    const std::int64_t at = source.ClipY(row + k);
    for (std::size_t i = 0; i < 4; ++i) {
      pixels[k][i] = missing ? pixels[k - 1][i] : source.At(at, columns[i]);
    }
  }
#if defined(__x86_64__)
  if (source.ByAvx2(row + 3, columns[3])) return BicubicAvx2(pixels, dx, dy, out);
#endif
  for (std::size_t i = 0; i < kChannels; ++i) {
    double v[4];
    for (std::size_t k = 0; k < 4; ++k) {
      v[k] = Cubic(pixels[k][0][i], pixels[k][1][i], pixels[k][2][i], pixels[k][3][i], dx);
    }
    const double value = Cubic(v[0], v[1], v[2], v[3], dy);
    out[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
}

template <std::size_t kChannels>
void Transform(const Source& source, const AffineMatrix& m, Interpolation interpolation,
               const Fill& fill, std::uint8_t* out) {
  switch (interpolation) {
    case Interpolation::kBilinear:
      return Generic<kChannels>(source, m, fill, out, [&](double x, double y, std::uint8_t* pixel) {
        Bilinear<kChannels>(source, x, y, pixel);
      });
    case Interpolation::kBicubic:
      return Generic<kChannels>(source, m, fill, out, [&](double x, double y, std::uint8_t* pixel) {
        Bicubic<kChannels>(source, x, y, pixel);
      });
    default:
      return Nearest<kChannels>(source, m, fill, out);
  }
}

}  // namespace

void TransformAffine(const Image& in, const AffineMatrix& matrix, Interpolation interpolation,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* out,
                     PointwiseLevel level) {
  const Source source(in, level);
  if (in.spec.channels == 1) {
    Transform<1>(source, matrix, interpolation, fill, out);
  } else {
    Transform<3>(source, matrix, interpolation, fill, out);
  }
}

}  // namespace headrace::ops
