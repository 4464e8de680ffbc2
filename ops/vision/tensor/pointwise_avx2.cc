#include "ops/vision/tensor/pointwise_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx2")))

namespace headrace::ops {
namespace {

// Lookups gain nothing from AVX2 (its gathers are slow, on some CPUs very slow), so this file has
// only the split into planes.

HR_TARGET inline __m256i Load(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// Splits 32 pixels of 4 bytes into 32 bytes of each of the first three channels.
HR_TARGET inline void Split(const std::uint8_t* at, __m256i planes[3]) {
  // In each half, groups the bytes of its four pixels by channel.
  const __m256i by_channel = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m256i a = _mm256_shuffle_epi8(Load(at), by_channel);
  const __m256i b = _mm256_shuffle_epi8(Load(at + 32), by_channel);
  const __m256i c = _mm256_shuffle_epi8(Load(at + 64), by_channel);
  const __m256i d = _mm256_shuffle_epi8(Load(at + 96), by_channel);
  const __m256i low_ab = _mm256_unpacklo_epi32(a, b), low_cd = _mm256_unpacklo_epi32(c, d);
  const __m256i high_ab = _mm256_unpackhi_epi32(a, b), high_cd = _mm256_unpackhi_epi32(c, d);
  // The four-pixel groups are now in the order 0 2 4 6
  // 1 3 5 7.
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  planes[0] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(low_ab, low_cd), in_order);
  planes[1] = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(low_ab, low_cd), in_order);
  planes[2] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(high_ab, high_cd), in_order);
}

HR_TARGET inline __m256i Reverse(__m256i bytes) {
  const __m256i in_half = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bytes, in_half), 0x4E);
}

HR_TARGET inline void Store(std::uint8_t* p, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

HR_TARGET void Planes(const Image& in, Flip flip, std::uint8_t* out) {
  const std::int64_t width = in.spec.width;
  const std::int64_t plane = width * in.spec.height;
  const std::int32_t channels = in.spec.channels;
  for (std::int64_t y = 0; y < in.spec.height; ++y, out += width) {
    const std::uint8_t* row = SourceRow(in, flip, y);
    std::int64_t x = 0;
    for (; x + 32 <= width; x += 32) {
      const std::int64_t from = flip.horizontal ? width - 32 - x : x;
      __m256i planes[3];
      if (channels == 1) {
        planes[0] = Load(row + from);
      } else {
        Split(row + from * 4, planes);
      }
      for (std::int32_t c = 0; c < channels; ++c) {
        Store(out + c * plane + x, flip.horizontal ? Reverse(planes[c]) : planes[c]);
      }
    }
    for (; x < width; ++x) {
      const std::int64_t from = flip.horizontal ? width - 1 - x : x;
      for (std::int32_t c = 0; c < channels; ++c) {
        out[c * plane + x] = row[from * static_cast<std::int64_t>(in.pixel_stride) + c];
      }
    }
  }
}

}  // namespace

const PointwiseKernels kAvx2Pointwise = {nullptr, nullptr, nullptr, Planes, false};

}  // namespace headrace::ops
#endif
