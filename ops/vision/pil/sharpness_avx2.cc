#include "ops/vision/pil/sharpness_row.h"

#if defined(__x86_64__)
#include <immintrin.h>

// Without fma: PIL rounds each product and each sum.
#define HR_TARGET __attribute__((target("avx2")))

namespace headrace::ops {
namespace {

constexpr std::size_t kStep = 8;  // values

HR_TARGET inline __m256 Values(const std::uint8_t* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

HR_TARGET inline __m256 Three(const std::uint8_t* p, std::size_t stride, __m256 near,
                              __m256 middle) {
  const __m256 left = _mm256_mul_ps(Values(p - stride), near);
  const __m256 two = _mm256_add_ps(left, _mm256_mul_ps(Values(p), middle));
  return _mm256_add_ps(two, _mm256_mul_ps(Values(p + stride), near));
}

}  // namespace

HR_TARGET std::size_t SharpenRowAvx2(const SharpnessRow& in, float factor, std::uint8_t* out) {
  const __m256 near = _mm256_set1_ps(kSmoothNear), center = _mm256_set1_ps(kSmoothCenter);
  const __m256 least = _mm256_setzero_ps(), most = _mm256_set1_ps(255.0F);
  const __m256 by = _mm256_set1_ps(factor);
  std::size_t at = in.stride;
  for (; at + in.stride + kStep <= in.values; at += kStep) {
    __m256 sum = _mm256_set1_ps(0.5F);  // to round
    sum = _mm256_add_ps(sum, Three(in.below + at, in.stride, near, near));
    sum = _mm256_add_ps(sum, Three(in.row + at, in.stride, near, center));
    sum = _mm256_add_ps(sum, Three(in.above + at, in.stride, near, near));
    const __m256 smooth =
        _mm256_round_ps(_mm256_min_ps(_mm256_max_ps(sum, least), most), _MM_FROUND_TO_ZERO);
    const __m256 away = _mm256_sub_ps(Values(in.row + at), smooth);
    const __m256 mixed = _mm256_add_ps(smooth, _mm256_mul_ps(by, away));
    const __m256i bytes = _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(mixed, least), most));
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + at), _mm_packus_epi16(words, words));
  }
  return at;
}

}  // namespace headrace::ops

#endif
