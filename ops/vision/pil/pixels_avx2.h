#pragma once

#include <cstdint>
#include <cstring>

#include "ops/vision/pil/enhance_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

// Runs of pixels in AVX2's registers, for the kernels of that level.
#define HR_AVX2 __attribute__((target("avx2,fma")))

namespace headrace::ops::avx2 {

inline constexpr std::size_t kStep = 8;  // pixels

// 8 pixels as pixels of 4 bytes.
template <std::size_t kStride>
HR_AVX2 inline __m256i Load(const std::uint8_t* p) {
  if (kStride == 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8));
  return _mm256_shuffle_epi8(
      _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1),
      _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,  //
                       4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1));
}

template <std::size_t kStride>
HR_AVX2 inline void Store(std::uint8_t* p, __m256i pixels) {
  if (kStride == 4) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), pixels);
  const __m256i in_half =
      _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                      0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)));
  const __m256i packed =
      _mm256_permutevar8x32_epi32(in_half, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p + 16), _mm256_extracti128_si256(packed, 1));
}

// Stores 8 numbers below 256 as bytes.
HR_AVX2 inline void StoreBytes(std::uint8_t* out, __m256i values) {
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
}

// Replaces the pixels by change(8 pixels of 4 bytes).
template <std::size_t kStride, typename Change>
HR_AVX2 inline void Replace(const PixelRun& run, const Change& change) {
  std::uint8_t* p = run.data;
  std::size_t left = run.pixels;
  for (; left >= kStep; left -= kStep, p += kStep * kStride) {
    Store<kStride>(p, change(Load<kStride>(p)));
  }
  if (left == 0) return;
  std::uint8_t rest[kStep * kStride] = {};
  std::memcpy(rest, p, left * kStride);
  Store<kStride>(rest, change(Load<kStride>(rest)));
  std::memcpy(p, rest, left * kStride);
}

template <int kChannel>
HR_AVX2 inline __m256i Channel(__m256i pixels) {
  return _mm256_and_si256(_mm256_srli_epi32(pixels, 8 * kChannel), _mm256_set1_epi32(255));
}

HR_AVX2 inline __m256i Join(__m256i first, __m256i second, __m256i third) {
  return _mm256_or_si256(
      first, _mm256_or_si256(_mm256_slli_epi32(second, 8), _mm256_slli_epi32(third, 16)));
}

HR_AVX2 inline __m256 Float(__m256i v) { return _mm256_cvtepi32_ps(v); }
HR_AVX2 inline __m256 All(float v) { return _mm256_set1_ps(v); }
HR_AVX2 inline __m256i All(int v) { return _mm256_set1_epi32(v); }

}  // namespace headrace::ops::avx2
#endif
