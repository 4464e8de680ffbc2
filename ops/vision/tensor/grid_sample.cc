#include "ops/vision/tensor/grid_sample.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "ops/vision/tensor/grid_kernels.h"

namespace headrace::ops {
namespace {

using Fill = std::optional<std::array<float, 3>>;

// Multiplies the matrices.
template <bool kFused>
float Line(const GridAxis& axis, float x, float y) {
  return kFused ? std::fma(y, axis.by_y, x * axis.by_x) + axis.shift
                : x * axis.by_x + y * axis.by_y + axis.shift;
}

// Scales from -1..1 to pixels, too.
template <bool kFused>
float Coordinate(const GridJob& job, const GridAxis& axis, float x, float y) {
  float at = Line<kFused>(axis, x, y);
  if (job.divisor) at = at / Line<kFused>(*job.divisor, x, y) - 1.0F;
  return std::fma(at + 1.0F, axis.half, -0.5F);
}

// The same of a place that is given.
float GivenCoordinate(const GridAxis& axis, float place) {
  return std::fma(place + 1.0F, axis.half, -0.5F);
}

bool Has(const GridAxis& axis, float at) { return at > -1.0F && at < axis.count; }

template <std::size_t kChannels>
const std::uint8_t* PixelAt(const Image& in, float x, float y) {
  return in.data + static_cast<std::size_t>(y) * in.row_stride +
         static_cast<std::size_t>(x) * kChannels;
}

std::uint8_t Rounded(float value) { return static_cast<std::uint8_t>(std::nearbyint(value)); }

template <std::size_t kChannels>
void Nearest(const Image& in, const GridAxis& across, const GridAxis& down, float x, float y,
             const Fill& fill, std::uint8_t* out) {
  x = std::nearbyint(x);
  y = std::nearbyint(y);
  const bool inside = Has(across, x) && Has(down, y);
  const std::uint8_t* from = inside ? PixelAt<kChannels>(in, x, y) : nullptr;
  for (std::size_t c = 0; c < kChannels; ++c) {
    out[c] = inside ? from[c] : fill ? Rounded((*fill)[c]) : 0;
  }
}

template <std::size_t kChannels>
void Bilinear(const Image& in, const GridAxis& across, const GridAxis& down, float x, float y,
              const Fill& fill, int api, std::uint8_t* out) {
  const float left = std::floor(x);
  const float top = std::floor(y);
  const float right_part = x - left;
  const float left_part = 1.0F - right_part;
  const float low_part = y - top;
  const float top_part = 1.0F - low_part;
  const float weights[4] = {top_part * left_part, top_part * right_part, low_part * left_part,
                            low_part * right_part};
  float sums[kChannels] = {};
  float covered = 0;  // part of the pixel that the image covers
  for (int corner = 0; corner < 4; ++corner) {
    const float at_x = corner & 1 ? left + 1.0F : left;
    const float at_y = corner & 2 ? top + 1.0F : top;
    if (!Has(across, at_x) || !Has(down, at_y)) continue;  // adds 0
    const std::uint8_t* p = PixelAt<kChannels>(in, at_x, at_y);
    for (std::size_t c = 0; c < kChannels; ++c) {
      sums[c] = std::fma(static_cast<float>(p[c]), weights[corner], sums[c]);
    }
    covered += weights[corner];
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    float value = sums[c];
    if (fill && api == 1) value = value * covered + (1.0F - covered) * (*fill)[c];
    if (fill && api == 2) value = (value - (*fill)[c]) * covered + (*fill)[c];
    out[c] = Rounded(value);
  }
}

template <std::size_t kChannels, bool kFused>
void Rows(const GridJob& job, std::uint8_t* out) {
  const auto width = static_cast<float>(job.in.spec.width);
  const auto height = static_cast<float>(job.in.spec.height);
  const float center_x = job.divisor ? 0.0F : width * 0.5F;
  const float center_y = job.divisor ? 0.0F : height * 0.5F;
  std::size_t pixel = 0;
  for (float row = 0; row < height; ++row) {
    const float y = row - center_y + 0.5F;
    for (float column = 0; column < width; ++column, ++pixel, out += kChannels) {
      const float x = column - center_x + 0.5F;
      const float at_x = job.field ? GivenCoordinate(job.across, job.field->x[pixel])
                                   : Coordinate<kFused>(job, job.across, x, y);
      const float at_y = job.field ? GivenCoordinate(job.down, job.field->y[pixel])
                                   : Coordinate<kFused>(job, job.down, x, y);
      if (job.bilinear) {
        Bilinear<kChannels>(job.in, job.across, job.down, at_x, at_y, job.fill, job.api, out);
      } else {
        Nearest<kChannels>(job.in, job.across, job.down, at_x, at_y, job.fill, out);
      }
    }
  }
}

void SampleGrid(const GridJob& job, std::uint8_t* out) {
  if (job.in.spec.channels == 1) {
    return job.fused() ? Rows<1, true>(job, out) : Rows<1, false>(job, out);
  }
  return job.fused() ? Rows<3, true>(job, out) : Rows<3, false>(job, out);
}

void SampleAt([[maybe_unused]] PointwiseLevel level, const GridJob& job, std::uint8_t* out) {
#if defined(__x86_64__)
  constexpr std::size_t kMostBytes = std::size_t{1} << 31;
  if (level != PointwiseLevel::kScalar && job.in.spec.bytes() < kMostBytes) {
    return SampleGridAvx2(job, out);
  }
#endif
  SampleGrid(job, out);
}

}  // namespace

void TensorAffine(const Image& in, const AffineMatrix& matrix, const AffineArgs& args, int api,
                  std::uint8_t* out, PointwiseLevel level) {
  SampleAt(level, AffineJob(in, matrix, args, api), out);
}

void TensorPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                       const AffineArgs& args, int api, std::uint8_t* out, PointwiseLevel level) {
  SampleAt(level, PerspectiveJob(in, coefficients, args, api), out);
}

void TensorElastic(const Image& in, const GridField& field, const AffineArgs& args, int api,
                   std::uint8_t* out, PointwiseLevel level) {
  SampleAt(level, FieldJob(in, field, args, api), out);
}

void TensorTurn(const Image& in, int turns, std::uint8_t* out) {
  const std::size_t pixel = in.pixel_stride;
  const std::int64_t bottom = in.spec.height - 1, right = in.spec.width - 1;
  for (std::int64_t y = 0; y <= bottom; ++y) {
    for (std::int64_t x = 0; x <= right; ++x, out += pixel) {
      const std::uint8_t* const from = turns == 0   ? in.At(y, x)
                                       : turns == 1 ? in.At(x, right - y)
                                       : turns == 2 ? in.At(bottom - y, right - x)
                                                    : in.At(bottom - x, y);
      std::memcpy(out, from, pixel);
    }
  }
}

}  // namespace headrace::ops
