#include "ops/vision/geometry/affine_avx2.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

// No fused operations: the target has none.
#define HR_AVX2 __attribute__((target("avx2")))

namespace headrace::ops {
namespace {

HR_AVX2 inline __m128i Ints(const std::uint8_t* pixel) {
  int bytes;
  std::memcpy(&bytes, pixel, sizeof bytes);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}

HR_AVX2 inline __m256d Doubles(__m128i v) { return _mm256_cvtepi32_pd(v); }

// p1 + d * (p2 + d * (p3 + d * p4))
HR_AVX2 inline __m256d Horner(__m256d p1, __m256d p2, __m256d p3, __m256d p4, __m256d d) {
  const __m256d inner = _mm256_add_pd(p3, _mm256_mul_pd(d, p4));
  return _mm256_add_pd(p1, _mm256_mul_pd(d, _mm256_add_pd(p2, _mm256_mul_pd(d, inner))));
}

// The coefficients are whole numbers, so they are exact in any order.
HR_AVX2 inline __m256d AlongRow(const std::uint8_t* const row[4], __m256d dx) {
  const __m128i v1 = Ints(row[0]);
  const __m128i v2 = Ints(row[1]);
  const __m128i v3 = Ints(row[2]);
  const __m128i v4 = Ints(row[3]);
  const __m128i rise = _mm_sub_epi32(v2, v1);  // p4 is rise + (v4 - v3), p3 is v3 - v4 - 2 rise
  const __m128i fall = _mm_sub_epi32(v3, v4);
  const __m128i p3 = _mm_sub_epi32(fall, _mm_add_epi32(rise, rise));
  return Horner(Doubles(v2), Doubles(_mm_sub_epi32(v3, v1)), Doubles(p3),
                Doubles(_mm_sub_epi32(rise, fall)), dx);
}

HR_AVX2 inline __m256d AlongColumn(const __m256d v[4], __m256d d) {
  const __m256d none = _mm256_setzero_pd();
  const __m256d less = _mm256_sub_pd(none, v[0]);  // 0 - 0 is 0, where -0 would not show either
  const __m256d twice = _mm256_mul_pd(_mm256_set1_pd(2), _mm256_sub_pd(v[0], v[1]));
  const __m256d p3 = _mm256_sub_pd(_mm256_add_pd(twice, v[2]), v[3]);
  const __m256d p4 = _mm256_add_pd(_mm256_sub_pd(_mm256_add_pd(less, v[1]), v[2]), v[3]);
  return Horner(v[1], _mm256_add_pd(less, v[2]), p3, p4, d);
}

HR_AVX2 inline void Put(__m256d values, std::uint8_t* out) {
  const __m128i ints = _mm256_cvttpd_epi32(values);
  const __m128i words = _mm_packus_epi32(ints, ints);
  const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(out, &bytes, 3);
}

}  // namespace

HR_AVX2 void BilinearAvx2(const std::uint8_t* const corners[4], double dx, double dy,
                          std::uint8_t* out) {
  const __m128i a = Ints(corners[0]);
  const __m128i c = Ints(corners[2]);
  const __m256d across = _mm256_set1_pd(dx);
  const __m256d above =
      _mm256_add_pd(Doubles(a), _mm256_mul_pd(Doubles(_mm_sub_epi32(Ints(corners[1]), a)), across));
  const __m256d below =
      _mm256_add_pd(Doubles(c), _mm256_mul_pd(Doubles(_mm_sub_epi32(Ints(corners[3]), c)), across));
  Put(_mm256_add_pd(above, _mm256_mul_pd(_mm256_sub_pd(below, above), _mm256_set1_pd(dy))), out);
}

HR_AVX2 void BicubicAvx2(const std::uint8_t* const pixels[4][4], double dx, double dy,
                         std::uint8_t* out) {
  const __m256d across = _mm256_set1_pd(dx);
  __m256d v[4];
  if (dx == 0) {  // a cubic at 0 is its second value, to the bit
    for (int k = 0; k < 4; ++k) v[k] = Doubles(Ints(pixels[k][1]));
  } else if (dy == 0) {
    v[1] = AlongRow(pixels[1], across);
  } else {
    for (int k = 0; k < 4; ++k) v[k] = AlongRow(pixels[k], across);
  }
  const __m256d value = dy == 0 ? v[1] : AlongColumn(v, _mm256_set1_pd(dy));
  Put(_mm256_min_pd(_mm256_max_pd(value, _mm256_setzero_pd()), _mm256_set1_pd(255)), out);
}

}  // namespace headrace::ops
#endif
