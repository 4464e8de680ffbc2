#include <algorithm>

#include "ops/core/lookup_avx512.h"
#include "ops/vision/tensor/pointwise_kernels.h"

#if defined(__x86_64__)

#define HR_TARGET HR_LOOKUP_TARGET

namespace headrace::ops {
namespace {

using namespace lookup;  // NOLINT(google-build-using-namespace)

// Takes the pixels of a row in blocks; a block's channels stay in the first-level cache.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kStep = 64;  // pixels of a step

// The channels of one block. In each step of 64 values, the groups of four are stored as the
// transpose of their 4 x 4 arrangement (0 4 8 12 1 5 ...). The split yields this order, and it puts
// the bytes of 32-bit results in order.
struct Channels {
  alignas(64) std::uint8_t value[3][kBlock];
};

// Loads n pixels of 3 bytes as pixels of 4 bytes.
HR_TARGET inline __m512i LoadPacked(const std::uint8_t* at, std::int64_t n) {
  const __m512i spread =
      _mm512_setr_epi32(0x00020100, 0x00050403, 0x00080706, 0x000B0A09, 0x000E0D0C, 0x0011100F,
                        0x00141312, 0x00171615, 0x001A1918, 0x001D1C1B, 0x00201F1E, 0x00232221,
                        0x00262524, 0x00292827, 0x002C2B2A, 0x002F2E2D);
  return _mm512_permutexvar_epi8(spread, _mm512_maskz_loadu_epi8(FirstBytes(3 * n), at));
}

// Loads up to 16 pixels of `step` bytes, which become outputs x, x + 1, ... of a row, as pixels of
// 4 bytes.
HR_TARGET inline __m512i LoadPixels(const std::uint8_t* row, std::int64_t step, std::int64_t width,
                                    std::int64_t x, bool flip) {
  const std::int64_t n = std::clamp<std::int64_t>(width - x, 0, 16);
  const std::uint8_t* at = row + (flip ? width - x - n : x) * step;
  const __m512i pixels = step == 3
                             ? LoadPacked(at, n)
                             : _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << n) - 1), at);
  if (!flip) return pixels;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i order = _mm512_sub_epi32(_mm512_set1_epi32(static_cast<int>(n) - 1), lanes);
  return _mm512_permutexvar_epi32(order, pixels);
}

// Loads up to 64 gray pixels, which become outputs x, x + 1, ... of a row.
HR_TARGET inline __m512i LoadGray(const std::uint8_t* row, std::int64_t width, std::int64_t x,
                                  bool flip) {
  const std::int64_t n = std::min<std::int64_t>(width - x, 64);
  if (!flip) return _mm512_maskz_loadu_epi8(FirstBytes(n), row + x);
  alignas(64) static constexpr std::uint8_t kLanes[64] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
      44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i order =
      _mm512_sub_epi8(_mm512_set1_epi8(static_cast<char>(n - 1)), _mm512_load_si512(kLanes));
  return _mm512_permutexvar_epi8(order,
                                 _mm512_maskz_loadu_epi8(FirstBytes(n), row + (width - x - n)));
}

HR_TARGET void SplitBlock(const Image& in, const std::uint8_t* row, bool flip, std::int64_t begin,
                          std::int64_t end, Channels* out) {
  const std::int64_t width = in.spec.width;
  const auto step = static_cast<std::int64_t>(in.pixel_stride);
  if (in.spec.channels == 1) {
    for (std::int64_t x = begin; x < end; x += kStep) {
      _mm512_store_si512(out->value[0] + (x - begin), Transpose(LoadGray(row, width, x, flip)));
    }
    return;
  }
  const __m512i by_channel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  for (std::int64_t x = begin; x < end; x += kStep) {
    const __m512i a = _mm512_shuffle_epi8(LoadPixels(row, step, width, x, flip), by_channel);
    const __m512i b = _mm512_shuffle_epi8(LoadPixels(row, step, width, x + 16, flip), by_channel);
    const __m512i c = _mm512_shuffle_epi8(LoadPixels(row, step, width, x + 32, flip), by_channel);
    const __m512i d = _mm512_shuffle_epi8(LoadPixels(row, step, width, x + 48, flip), by_channel);
    const __m512i low_ab = _mm512_unpacklo_epi32(a, b), low_cd = _mm512_unpacklo_epi32(c, d);
    const __m512i high_ab = _mm512_unpackhi_epi32(a, b), high_cd = _mm512_unpackhi_epi32(c, d);
    const std::int64_t at = x - begin;
    _mm512_store_si512(out->value[0] + at, _mm512_unpacklo_epi64(low_ab, low_cd));
    _mm512_store_si512(out->value[1] + at, _mm512_unpackhi_epi64(low_ab, low_cd));
    _mm512_store_si512(out->value[2] + at, _mm512_unpacklo_epi64(high_ab, high_cd));
  }
}

template <int kBytes, bool kStream>
HR_TARGET void TableRows(const Image& in, Flip flip, const std::uint8_t* table, std::uint8_t* out) {
  const std::int64_t width = in.spec.width;
  const std::int64_t plane = width * in.spec.height;
  ByteTable parts[3][kBytes];
  for (std::int32_t c = 0; c < in.spec.channels; ++c) {
    for (int part = 0; part < kBytes; ++part) {
      LoadPart<kBytes>(table + c * 256 * kBytes, part, &parts[c][part]);
    }
  }
  Channels channels;
  for (std::int64_t y = 0; y < in.spec.height; ++y) {
    const std::uint8_t* row = SourceRow(in, flip, y);
    for (std::int64_t begin = 0; begin < width; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, width);
      SplitBlock(in, row, flip.horizontal, begin, end, &channels);
      for (std::int32_t c = 0; c < in.spec.channels; ++c) {
        ByteTable here[kBytes];
        for (int part = 0; part < kBytes; ++part) here[part] = parts[c][part];
        std::uint8_t* to = out + (c * plane + y * width + begin) * kBytes;
        for (std::int64_t x = 0; x < end - begin; x += kStep) {
          LookupStep<kBytes, kStream>(here, _mm512_load_si512(channels.value[c] + x),
                                      end - begin - x, to + x * kBytes);
        }
      }
    }
  }
}

template <int kBytes>
void Table(const Image& in, Flip flip, const std::uint8_t* table, std::uint8_t* out) {
  if constexpr (kBytes == 4) {
    const auto rows = static_cast<std::size_t>(in.spec.channels * in.spec.height);
    if (IsStreamed(out, static_cast<std::size_t>(in.spec.width) * kBytes, rows)) {
      TableRows<kBytes, true>(in, flip, table, out);
      _mm_sfence();  // before others learn that the results are there
      return;
    }
  }
  TableRows<kBytes, false>(in, flip, table, out);
}

HR_TARGET void Planes(const Image& in, Flip flip, std::uint8_t* out) {
  const std::int64_t width = in.spec.width;
  const std::int64_t plane = width * in.spec.height;
  Channels channels;
  for (std::int64_t y = 0; y < in.spec.height; ++y) {
    const std::uint8_t* row = SourceRow(in, flip, y);
    for (std::int64_t begin = 0; begin < width; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, width);
      SplitBlock(in, row, flip.horizontal, begin, end, &channels);
      for (std::int32_t c = 0; c < in.spec.channels; ++c) {
        std::uint8_t* to = out + c * plane + y * width + begin;
        for (std::int64_t x = 0; x < end - begin; x += kStep) {
          _mm512_mask_storeu_epi8(to + x, FirstBytes(end - begin - x),
                                  Transpose(_mm512_load_si512(channels.value[c] + x)));
        }
      }
    }
  }
}

}  // namespace

const PointwiseKernels kAvx512VbmiPointwise = {Table<1>, Table<2>, Table<4>, Planes, true};

}  // namespace headrace::ops
#endif
