#include <algorithm>

#include "ops/vision/tensor/pointwise_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2")))

namespace headrace::ops {
namespace {

// Takes the pixels of a row in blocks; a block's channels stay in the first-level cache.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kStep = 64;  // pixels of a step

// The channels of one block. In each step of 64 values, the groups of four are stored as the
// transpose of their 4 x 4 arrangement (0 4 8 12 1 5 ...). The split yields this order, and it puts
// the bytes of 32-bit results in order.
struct Channels {
  alignas(64) std::uint8_t value[3][kBlock];
};

HR_TARGET inline __m512i Transpose(__m512i groups) {
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), groups);
}

HR_TARGET inline __mmask64 FirstBytes(std::int64_t n) {
  return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
}

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

// 256 bytes in registers.
struct ByteTable {
  __m512i quarter[4];
};

struct QuarterMasks {
  __mmask64 second, third, fourth;
};

HR_TARGET inline QuarterMasks MasksOf(__m512i index) {
  const __mmask64 upper = _mm512_movepi8_mask(index);
  const __mmask64 odd = _mm512_test_epi8_mask(index, _mm512_set1_epi8(0x40));
  return {odd & ~upper, upper & ~odd, upper & odd};
}

HR_TARGET inline __m512i Lookup(const ByteTable& table, __m512i index, const QuarterMasks& in) {
  __m512i v = _mm512_permutexvar_epi8(index, table.quarter[0]);
  v = _mm512_mask_permutexvar_epi8(v, in.second, index, table.quarter[1]);
  v = _mm512_mask_permutexvar_epi8(v, in.third, index, table.quarter[2]);
  return _mm512_mask_permutexvar_epi8(v, in.fourth, index, table.quarter[3]);
}

// Byte `part` of each of the 256 elements.
template <int kBytes>
HR_TARGET inline void LoadPart(const std::uint8_t* table, int part, ByteTable* out) {
  alignas(64) std::uint8_t bytes[256];
  for (int i = 0; i < 256; i += 64 / kBytes) {
    const __m512i elements = _mm512_loadu_si512(table + i * kBytes);
    const __m128i shift = _mm_cvtsi32_si128(8 * part);
    if constexpr (kBytes == 4) {
      _mm_store_si128(reinterpret_cast<__m128i*>(bytes + i),
                      _mm512_cvtepi32_epi8(_mm512_srl_epi32(elements, shift)));
    } else if constexpr (kBytes == 2) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(bytes + i),
                         _mm512_cvtepi16_epi8(_mm512_srl_epi16(elements, shift)));
    } else {
      _mm512_store_si512(bytes + i, elements);
    }
  }
  for (int q = 0; q < 4; ++q) out->quarter[q] = _mm512_load_si512(bytes + 64 * q);
}

// Says whether results bypass the caches: there are too many to stay there, and others read the
// batch much later. Needs whole, aligned cache lines in every row.
bool IsStreamed(const std::uint8_t* out, std::size_t row_bytes, std::size_t rows) {
  constexpr std::size_t kMinBytes = std::size_t{128} << 10;
  return reinterpret_cast<std::uintptr_t>(out) % 64 == 0 && row_bytes % 64 == 0 &&
         row_bytes * rows >= kMinBytes;
}

template <bool kStream>
HR_TARGET inline void Store32(__m512i v, std::int64_t n, std::uint8_t* out) {
  if constexpr (kStream) {
    if (n >= 16) _mm512_stream_si512(reinterpret_cast<__m512i*>(out), v);
    return;
  }
  const std::int64_t lanes = std::clamp<std::int64_t>(n, 0, 16);
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1U << lanes) - 1), v);
}

HR_TARGET inline void Store16(__m512i v, std::int64_t n, std::uint8_t* out) {
  const std::int64_t lanes = std::clamp<std::int64_t>(n, 0, 32);
  _mm512_mask_storeu_epi16(out, static_cast<__mmask32>((std::uint64_t{1} << lanes) - 1), v);
}

// Looks n values up and writes their elements in order.
template <int kBytes, bool kStream>
HR_TARGET inline void LookupStep(const ByteTable* parts, __m512i index, std::int64_t n,
                                 std::uint8_t* out) {
  if constexpr (kBytes == 4) {
    const QuarterMasks masks = MasksOf(index);
    const __m512i p0 = Lookup(parts[0], index, masks), p1 = Lookup(parts[1], index, masks);
    const __m512i p2 = Lookup(parts[2], index, masks), p3 = Lookup(parts[3], index, masks);
    const __m512i low01 = _mm512_unpacklo_epi8(p0, p1), high01 = _mm512_unpackhi_epi8(p0, p1);
    const __m512i low23 = _mm512_unpacklo_epi8(p2, p3), high23 = _mm512_unpackhi_epi8(p2, p3);
    Store32<kStream>(_mm512_unpacklo_epi16(low01, low23), n, out);
    Store32<kStream>(_mm512_unpackhi_epi16(low01, low23), n - 16, out + 64);
    Store32<kStream>(_mm512_unpacklo_epi16(high01, high23), n - 32, out + 128);
    Store32<kStream>(_mm512_unpackhi_epi16(high01, high23), n - 48, out + 192);
    return;
  }
  const __m512i in_order = Transpose(index);
  const QuarterMasks masks = MasksOf(in_order);
  const __m512i p0 = Lookup(parts[0], in_order, masks);
  if constexpr (kBytes == 1) {
    _mm512_mask_storeu_epi8(out, FirstBytes(n), p0);
  } else {
    const __m512i p1 = Lookup(parts[1], in_order, masks);
    for (int half = 0; half < 2; ++half) {
      const __m256i low = half == 0 ? _mm512_castsi512_si256(p0) : _mm512_extracti64x4_epi64(p0, 1);
      const __m256i high =
          half == 0 ? _mm512_castsi512_si256(p1) : _mm512_extracti64x4_epi64(p1, 1);
      Store16(_mm512_or_si512(_mm512_cvtepu8_epi16(low),
                              _mm512_slli_epi16(_mm512_cvtepu8_epi16(high), 8)),
              n - 32 * half, out + 64 * half);
    }
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
