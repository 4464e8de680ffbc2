#include "dataworker/stage/images/normalize.h"

#include <immintrin.h>

namespace headrace::images {

__attribute__((target("avx2"))) void NormalizePixels(const std::uint8_t* in, std::size_t pixels,
                                                     const std::array<float, 3>& mean,
                                                     const std::array<float, 3>& factor,
                                                     float* out) {
  // 24 values hold eight pixels: the channels come round.
  float means[24];
  float factors[24];
  for (std::size_t i = 0; i < 24; ++i) {
    means[i] = mean[i % 3];
    factors[i] = factor[i % 3];
  }
  const std::size_t values = 3 * pixels;
  std::size_t at = 0;
  for (; at + 24 <= values; at += 24) {
    for (std::size_t i = 0; i < 24; i += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + at + i));
      const __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
      const __m256 difference = _mm256_sub_ps(value, _mm256_loadu_ps(means + i));
      _mm256_storeu_ps(out + at + i, _mm256_mul_ps(difference, _mm256_loadu_ps(factors + i)));
    }
  }
  for (; at < values; ++at) {
    const float difference = static_cast<float>(in[at]) - mean[at % 3];
    out[at] = difference * factor[at % 3];
  }
}

}  // namespace headrace::images
