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

__attribute__((target("avx2"))) void NormalizePlanes(std::span<const float> in, std::size_t plane,
                                                     const Deviations& by, float* out) {
  const std::size_t channels = by.means.size();
  for (std::size_t begin = 0, c = 0; begin + plane <= in.size(); begin += plane) {
    const __m256 mean = _mm256_set1_ps(by.means[c]);
    const __m256 deviation = _mm256_set1_ps(by.deviations[c]);
    const float* const from = in.data() + begin;
    float* const to = out + begin;
    std::size_t at = 0;
    for (; at + 8 <= plane; at += 8) {
      const __m256 difference = _mm256_sub_ps(_mm256_loadu_ps(from + at), mean);
      _mm256_storeu_ps(to + at, _mm256_div_ps(difference, deviation));
    }
    for (; at < plane; ++at) {
      const float difference = from[at] - by.means[c];
      to[at] = difference / by.deviations[c];
    }
    c = c + 1 == channels ? 0 : c + 1;
  }
}

__attribute__((target("avx2"))) void NormalizeInterleaved(std::span<const float> in,
                                                          const Deviations& by, float* out) {
  // So many values hold eight pixels, after which the channels are in their places again.
  const std::size_t channels = by.means.size();
  const std::size_t round = 8 * channels;
  std::array<float, 8 * kMostInterleaved> means;
  std::array<float, 8 * kMostInterleaved> deviations;
  for (std::size_t i = 0; i < round; ++i) {
    means[i] = by.means[i % channels];
    deviations[i] = by.deviations[i % channels];
  }
  std::size_t at = 0;
  for (; at + round <= in.size(); at += round) {
    for (std::size_t i = 0; i < round; i += 8) {
      const __m256 value = _mm256_loadu_ps(in.data() + at + i);
      const __m256 difference = _mm256_sub_ps(value, _mm256_loadu_ps(means.data() + i));
      _mm256_storeu_ps(out + at + i,
                       _mm256_div_ps(difference, _mm256_loadu_ps(deviations.data() + i)));
    }
  }
  for (; at < in.size(); ++at) {
    const float difference = in[at] - by.means[at % channels];
    out[at] = difference / by.deviations[at % channels];
  }
}

}  // namespace headrace::images
