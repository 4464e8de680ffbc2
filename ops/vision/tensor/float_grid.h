#pragma once

#include "ops/vision/tensor/float_kernels.h"
#include "ops/vision/tensor/grid_kernels.h"

// torch's grid_sample of float32 pixels. Included as float_steps.h is. V computes the coordinates of
// kSize pixels, and P takes one pixel: its four floats, or one.
namespace headrace::ops {

// A pixel of one channel.
struct GridGray {
  using Float = float;
  static constexpr std::size_t kFloats = 1;
  HR_TARGET static inline Float Load(const float* p) { return *p; }
  HR_TARGET static inline void Store(float* p, Float v) { *p = v; }
  HR_TARGET static inline Float All(float value) { return value; }
  HR_TARGET static inline Float Add(Float a, Float b) { return a + b; }
  HR_TARGET static inline Float Sub(Float a, Float b) { return a - b; }
  HR_TARGET static inline Float Mul(Float a, Float b) { return a * b; }
  HR_TARGET static inline Float Fma(Float a, Float b, Float c) { return std::fma(a, b, c); }
};

// Where a vector of pixels comes from.
template <std::size_t kSize>
struct GridPoints {
  float x[kSize], y[kSize];  // whole numbers: rounded, or of the upper left corner
  float weights[4][kSize];
};

template <typename V, bool kFused>
HR_TARGET inline typename V::Float GridLine(const GridAxis& axis, typename V::Float x,
                                            typename V::Float y) {
  const typename V::Float by_x = V::Mul(x, V::All(axis.by_x));
  const typename V::Float sum =
      kFused ? V::Fma(y, V::All(axis.by_y), by_x) : V::Add(by_x, V::Mul(y, V::All(axis.by_y)));
  return V::Add(sum, V::All(axis.shift));
}

template <typename V, bool kFused>
HR_TARGET inline typename V::Float GridCoordinate(const GridJob& job, const GridAxis& axis,
                                                  typename V::Float x, typename V::Float y) {
  const typename V::Float one = V::All(1.0F);
  typename V::Float at = GridLine<V, kFused>(axis, x, y);
  if (job.divisor) at = V::Sub(V::Div(at, GridLine<V, kFused>(*job.divisor, x, y)), one);
  return V::Fma(V::Add(at, one), V::All(axis.half), V::All(-0.5F));
}

// The same of places that are given.
template <typename V>
HR_TARGET inline typename V::Float GivenCoordinate(const GridAxis& axis, const float* places) {
  return V::Fma(V::Add(V::Load(places), V::All(1.0F)), V::All(axis.half), V::All(-0.5F));
}

// The points of the pixels from `column` on, in a row whose coordinate is `y`. `pixel`: the number
// of the first one.
template <typename V, bool kFused>
HR_TARGET inline void GridPointsOf(const GridJob& job, float column, float center, float row_y,
                                   std::size_t pixel, GridPoints<V::kSize>* points) {
  using F = typename V::Float;
  const F one = V::All(1.0F);
  const F columns = V::Add(V::All(column), V::Steps());
  const F x = V::Add(V::Sub(columns, V::All(center)), V::All(0.5F));
  const F at_x = job.field ? GivenCoordinate<V>(job.across, job.field->x + pixel)
                           : GridCoordinate<V, kFused>(job, job.across, x, V::All(row_y));
  const F at_y = job.field ? GivenCoordinate<V>(job.down, job.field->y + pixel)
                           : GridCoordinate<V, kFused>(job, job.down, x, V::All(row_y));
  if (!job.bilinear) {
    V::Store(points->x, V::Round(at_x));
    V::Store(points->y, V::Round(at_y));
    return;
  }
  const F left = V::Floor(at_x), top = V::Floor(at_y);
  const F right_part = V::Sub(at_x, left), left_part = V::Sub(one, right_part);
  const F low_part = V::Sub(at_y, top), top_part = V::Sub(one, low_part);
  V::Store(points->x, left);
  V::Store(points->y, top);
  V::Store(points->weights[0], V::Mul(top_part, left_part));
  V::Store(points->weights[1], V::Mul(top_part, right_part));
  V::Store(points->weights[2], V::Mul(low_part, left_part));
  V::Store(points->weights[3], V::Mul(low_part, right_part));
}

HR_TARGET inline bool GridHas(const GridJob& job, float x, float y) {
  return x > -1.0F && x < job.across.count && y > -1.0F && y < job.down.count;
}

template <typename P>
HR_TARGET inline typename P::Float GridPixel(const GridJob& job, float x, float y) {
  if (!GridHas(job, x, y)) return P::All(0.0F);
  const auto* const row =
      reinterpret_cast<const float*>(job.in.data + static_cast<std::size_t>(y) * job.in.row_stride);
  return P::Load(row + static_cast<std::size_t>(x) * P::kFloats);
}

template <typename P>
HR_TARGET inline typename P::Float GridBilinear(const GridJob& job, float x, float y,
                                                const float (&weights)[4], typename P::Float fill) {
  typename P::Float sum = P::Mul(GridPixel<P>(job, x, y), P::All(weights[0]));
  float covered = GridHas(job, x, y) ? weights[0] : 0.0F;  // part that the image covers
  for (int corner = 1; corner < 4; ++corner) {
    const float at_x = (corner & 1) != 0 ? x + 1.0F : x;
    const float at_y = (corner & 2) != 0 ? y + 1.0F : y;
    sum = P::Fma(GridPixel<P>(job, at_x, at_y), P::All(weights[corner]), sum);
    if (GridHas(job, at_x, at_y)) covered += weights[corner];
  }
  if (!job.fill) return sum;
  const typename P::Float part = P::All(covered);
  if (job.api == 1) {
    return P::Add(P::Mul(sum, part), P::Mul(P::All(1.0F - covered), fill));
  }
  return P::Add(P::Mul(P::Sub(sum, fill), part), fill);
}

template <typename V, typename P, bool kFused>
HR_TARGET void GridRows(const GridJob& job, float* out) {
  const auto width = static_cast<std::size_t>(job.in.spec.width);
  const auto height = static_cast<float>(job.in.spec.height);
  const float center_x = job.divisor ? 0.0F : static_cast<float>(width) * 0.5F;
  const float center_y = job.divisor ? 0.0F : height * 0.5F;
  const float fills[4] = {job.fill ? (*job.fill)[0] : 0.0F, job.fill ? (*job.fill)[1] : 0.0F,
                          job.fill ? (*job.fill)[2] : 0.0F, 0.0F};
  const typename P::Float fill = P::Load(fills);
  GridPoints<V::kSize> points;
  std::size_t first = 0;  // pixel of the row
  for (float row = 0; row < height; ++row, first += width) {
    for (std::size_t column = 0; column < width; column += V::kSize) {
      GridPointsOf<V, kFused>(job, static_cast<float>(column), center_x, row - center_y + 0.5F,
                              first + column, &points);
      const std::size_t count = std::min(width - column, V::kSize);
      for (std::size_t i = 0; i < count; ++i, out += P::kFloats) {
        const float x = points.x[i], y = points.y[i];
        if (job.bilinear) {
          const float weights[4] = {points.weights[0][i], points.weights[1][i],
                                    points.weights[2][i], points.weights[3][i]};
          P::Store(out, GridBilinear<P>(job, x, y, weights, fill));
        } else {
          P::Store(out, GridHas(job, x, y) ? GridPixel<P>(job, x, y) : fill);
        }
      }
    }
  }
}

template <typename V, typename P>
HR_TARGET inline void SampleFloats(const GridJob& job, float* out) {
  if (job.in.spec.channels == 1) {
    return job.fused() ? GridRows<V, GridGray, true>(job, out)
                       : GridRows<V, GridGray, false>(job, out);
  }
  job.fused() ? GridRows<V, P, true>(job, out) : GridRows<V, P, false>(job, out);
}

}  // namespace headrace::ops
