#include "ops/vision/pil/expand_rgb.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::ops {
namespace {

void ExpandScalar(const std::uint8_t* in, std::size_t in_step, std::size_t pixels,
                  std::uint8_t* out) {
  for (std::size_t x = 0; x < pixels; ++x, in += in_step, out += 4) {
    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[2];
    out[3] = 0;
  }
}

#if defined(__x86_64__)
// Expands the first pixels of a packed row and returns how many; reads nothing past the row.
__attribute__((target("avx2"))) std::size_t ExpandAvx2(const std::uint8_t* in, std::size_t pixels,
                                                       std::uint8_t* out) {
  const __m256i spread = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
  std::size_t x = 0;
  for (; x + 10 <= pixels; x += 8) {  // the second load reads 28 bytes: 9 1/3 pixels
    const std::uint8_t* p = in + x * 3;
    const __m256i packed = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 12)), 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x * 4),
                        _mm256_shuffle_epi8(packed, spread));
  }
  return x;
}
#endif

void ExpandPacked(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  std::size_t done = 0;
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kHasAvx2) done = ExpandAvx2(in, pixels, out);
#endif
  ExpandScalar(in + done * 3, 3, pixels - done, out + done * 4);
}

}  // namespace

void CopyPixels(const Image& in, std::uint8_t* out, std::size_t row_stride) {
  const auto width = static_cast<std::size_t>(in.spec.width);
  for (std::int64_t y = 0; y < in.spec.height; ++y) {
    const std::uint8_t* from = in.data + y * in.row_stride;
    std::uint8_t* to = out + y * row_stride;
    if (in.spec.channels == 1 && in.pixel_stride == 1) {
      std::memcpy(to, from, width);
    } else if (in.spec.channels == 1) {
      for (std::size_t x = 0; x < width; ++x) to[x] = from[x * in.pixel_stride];
    } else if (in.pixel_stride == 4) {
      std::memcpy(to, from, width * 4);
    } else if (in.pixel_stride == 3) {
      ExpandPacked(from, width, to);
    } else {
      ExpandScalar(from, in.pixel_stride, width, to);
    }
  }
}

}  // namespace headrace::ops
