#include "ops/vision/geometry/pil_sampling_avx2.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_AVX2 __attribute__((target("avx2")))

// Does the same as pil_sampling.cc, for the channels of a pixel at once: four doubles, of which the
// last is of no interest. Each operation is one operation there, and none is fused.
namespace headrace::ops {
namespace {

HR_AVX2 inline __m128i Load(const std::uint8_t* pixel) {
  std::int32_t bytes;
  std::memcpy(&bytes, pixel, 4);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}

// Truncates to bytes. REQUIRES: values of 0 to 255.
HR_AVX2 inline void Store(__m256d values, std::uint8_t* out) {
  const __m128i whole = _mm256_cvttpd_epi32(values);
  const __m128i words = _mm_packus_epi32(whole, whole);
  const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(out, &bytes, 3);
}

HR_AVX2 inline double Floor(double value) {
  return _mm_cvtsd_f64(_mm_floor_sd(_mm_setzero_pd(), _mm_set_sd(value)));
}

HR_AVX2 inline __m256d Between(__m128i a, __m128i b, __m256d part) {
  return _mm256_add_pd(_mm256_cvtepi32_pd(a),
                       _mm256_mul_pd(_mm256_cvtepi32_pd(_mm_sub_epi32(b, a)), part));
}

HR_AVX2 inline void Bilinear(const PilSource& source, PilPoint at, std::uint8_t* out) {
  const double x = at.x - 0.5;
  const double y = at.y - 0.5;
  const double left = Floor(x);
  const double top = Floor(y);
  const __m256d dx = _mm256_set1_pd(x - left);
  const __m256d dy = _mm256_set1_pd(y - top);
  const auto column = static_cast<std::int64_t>(left);
  const auto row = static_cast<std::int64_t>(top);
  const std::int64_t x0 = source.ClipX(column), x1 = source.ClipX(column + 1);
  const std::int64_t y0 = source.ClipY(row), y1 = source.ClipY(row + 1);
  const __m256d above = Between(Load(source.At(y0, x0)), Load(source.At(y0, x1)), dx);
  const __m256d below = Between(Load(source.At(y1, x0)), Load(source.At(y1, x1)), dx);
  Store(_mm256_add_pd(above, _mm256_mul_pd(_mm256_sub_pd(below, above), dy)), out);
}

HR_AVX2 inline __m256d Cubic(__m256d v1, __m256d v2, __m256d v3, __m256d v4, __m256d d) {
  const __m256d first = _mm256_sub_pd(v1, v2);
  const __m256d p2 = _mm256_sub_pd(v3, v1);
  const __m256d p3 = _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(first, first), v3), v4);
  // -v1 + v2 is the negative of v1 - v2, exactly.
  const __m256d p4 = _mm256_add_pd(_mm256_sub_pd(_mm256_sub_pd(v2, v1), v3), v4);
  const __m256d inner = _mm256_add_pd(p3, _mm256_mul_pd(d, p4));
  const __m256d middle = _mm256_add_pd(p2, _mm256_mul_pd(d, inner));
  return _mm256_add_pd(v2, _mm256_mul_pd(d, middle));
}

HR_AVX2 inline void Bicubic(const PilSource& source, PilPoint at, std::uint8_t* out) {
  const double x = at.x - 0.5;
  const double y = at.y - 0.5;
  const double left = Floor(x);
  const double top = Floor(y);
  const __m256d dx = _mm256_set1_pd(x - left);
  const __m256d dy = _mm256_set1_pd(y - top);
  const auto row = static_cast<std::int64_t>(top) - 1;
  const auto column = static_cast<std::int64_t>(left) - 1;
  std::int64_t columns[4];
  for (std::int64_t i = 0; i < 4; ++i) columns[i] = source.ClipX(column + i);
  __m256d v[4];
  for (std::int64_t k = 0; k < 4; ++k) {
    if (k > 0 && !source.HasRow(row + k)) {
      v[k] = v[k - 1];
      continue;
    }
    const std::int64_t from = source.ClipY(row + k);
    const auto value = [&](std::int64_t i) HR_AVX2 {
      return _mm256_cvtepi32_pd(Load(source.At(from, columns[i])));
    };
    v[k] = Cubic(value(0), value(1), value(2), value(3), dx);
  }
  const __m256d made = Cubic(v[0], v[1], v[2], v[3], dy);
  Store(_mm256_min_pd(_mm256_max_pd(made, _mm256_setzero_pd()), _mm256_set1_pd(255)), out);
}

}  // namespace

HR_AVX2 void PilBilinearAvx2(const PilSource& source, std::span<const PilPoint> points,
                             const PilFill& fill, std::uint8_t* out) {
  for (const PilPoint& at : points) {
    if (source.HasColumn(at.x) && source.HasRow(at.y)) {
      Bilinear(source, at, out);
    } else {
      PutPixel<3>(fill.data(), out);
    }
    out += 3;
  }
}

HR_AVX2 void PilBicubicAvx2(const PilSource& source, std::span<const PilPoint> points,
                            const PilFill& fill, std::uint8_t* out) {
  for (const PilPoint& at : points) {
    if (source.HasColumn(at.x) && source.HasRow(at.y)) {
      Bicubic(source, at, out);
    } else {
      PutPixel<3>(fill.data(), out);
    }
    out += 3;
  }
}

}  // namespace headrace::ops
#endif
