#include "dataworker/stage/images/pil_pixels.h"

#include <immintrin.h>

#include <cstring>

namespace headrace::images {

__attribute__((target("avx2"))) void PackRgb(const std::uint8_t* in, std::size_t pixels,
                                             std::uint8_t* out) {
  const __m128i shuffle = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  std::size_t at = 0;
  // 12 of the 16 bytes stand; the next pixels write over the others.
  for (; at + 6 <= pixels; at += 4) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 4 * at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * at), _mm_shuffle_epi8(bytes, shuffle));
  }
  for (; at < pixels; ++at) std::memcpy(out + 3 * at, in + 4 * at, 3);
}

__attribute__((target("avx2"))) void UnpackRgb(const std::uint8_t* in, std::size_t pixels,
                                               std::uint8_t* out) {
  const __m128i shuffle = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
  const __m128i last = _mm_set1_epi32(static_cast<int>(0xff000000U));
  std::size_t at = 0;
  for (; at + 6 <= pixels; at += 4) {  // reads four bytes more than it uses
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 3 * at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 4 * at),
                     _mm_or_si128(_mm_shuffle_epi8(bytes, shuffle), last));
  }
  for (; at < pixels; ++at) {
    std::memcpy(out + 4 * at, in + 3 * at, 3);
    out[4 * at + 3] = 255;
  }
}

}  // namespace headrace::images
