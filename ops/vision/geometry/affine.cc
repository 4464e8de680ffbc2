#include "ops/vision/geometry/affine.h"

#include <cmath>

#include "ops/vision/geometry/pil_sampling.h"

// Source: libImaging/Geometry.c. Each path computes as Pillow's does, in its order, since the bits
// of a coordinate decide about the pixel.
namespace headrace::ops {
namespace {

// ImagingScaleAffine: for matrices that do not mix the axes.
template <std::size_t kChannels>
void Scale(const PilSource& source, const AffineMatrix& m, const PilFill& fill, std::uint8_t* out) {
  double y = m[5] + m[4] * 0.5;
  for (std::int64_t row = 0; row < source.height(); ++row, y += m[4]) {
    const bool has_row = source.HasRow(y);
    double x = m[2] + m[0] * 0.5;
    for (std::int64_t column = 0; column < source.width(); ++column, x += m[0], out += kChannels) {
      PutPixel<kChannels>(has_row && source.HasColumn(x) ? source.At(static_cast<std::int64_t>(y),
                                                                     static_cast<std::int64_t>(x))
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
void Fixed(const PilSource& source, const AffineMatrix& m, const PilFill& fill, std::uint8_t* out) {
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
      PutPixel<kChannels>(inside ? source.At(at_y, at_x) : fill.data(), out);
      x += x_by_column;
      y += y_by_column;
    }
    first_x += x_by_row;
    first_y += y_by_row;
  }
}

// The last part of ImagingTransformAffine, for images too large for fixed point.
template <std::size_t kChannels>
void Floating(const PilSource& source, const AffineMatrix& m, const PilFill& fill,
              std::uint8_t* out) {
  double first_x = m[2] + m[1] * 0.5 + m[0] * 0.5;
  double first_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
  for (std::int64_t row = 0; row < source.height(); ++row) {
    double x = first_x;
    double y = first_y;
    for (std::int64_t column = 0; column < source.width(); ++column, out += kChannels) {
      const bool inside = source.HasColumn(x) && source.HasRow(y);
      PutPixel<kChannels>(
          inside ? source.At(static_cast<std::int64_t>(y), static_cast<std::int64_t>(x))
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
void Nearest(const PilSource& source, const AffineMatrix& m, const PilFill& fill,
             std::uint8_t* out) {
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

}  // namespace

void TransformAffine(const Image& in, const AffineMatrix& matrix, Interpolation interpolation,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* out) {
  const PilSource source(in);
  if (interpolation == Interpolation::kBilinear || interpolation == Interpolation::kBicubic) {
    const AffineMatrix& m = matrix;
    const auto from = [&m](double x, double y) {
      return PilPoint{m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]};
    };
    PilTransform(source, WholeOf(in.spec), fill, out, from,
                 PilSamplerOf(interpolation, in.spec.channels));
  } else if (in.spec.channels == 1) {
    Nearest<1>(source, matrix, fill, out);
  } else {
    Nearest<3>(source, matrix, fill, out);
  }
}

}  // namespace headrace::ops
