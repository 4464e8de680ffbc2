#include <algorithm>

#include "ops/vision/resample/resample_passes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2")))

namespace headrace::ops {
namespace {

// Dot products with each byte of the weights, the lowest byte first. Their weighted sum wraps to
// the same int32 as the plain sum of products.
template <int kParts>
struct Sums {
  __m512i part[kParts];
};

template <int kParts>
HR_TARGET inline Sums<kParts> Start(const ResampleAxis& axis) {
  Sums<kParts> sums;
  sums.part[0] = _mm512_set1_epi32(1 << (axis.precision_bits - 1));
  for (int i = 1; i < kParts; ++i) sums.part[i] = _mm512_setzero_si512();
  return sums;
}

template <int kParts>
HR_TARGET inline void Accumulate(Sums<kParts>& sums, __m512i pixels, const std::uint32_t* words) {
  for (int i = 0; i < kParts; ++i) {
    sums.part[i] =
        _mm512_dpbusd_epi32(sums.part[i], pixels, _mm512_set1_epi32(static_cast<int>(words[i])));
  }
}

template <int kParts>
HR_TARGET inline __m512i Finish(const Sums<kParts>& sums, __m128i precision_bits) {
  __m512i sum = sums.part[kParts - 1];
  for (int i = kParts - 2; i >= 0; --i) {
    sum = _mm512_add_epi32(sums.part[i], _mm512_slli_epi32(sum, 8));
  }
  return _mm512_sra_epi32(sum, precision_bits);
}

// Saturates 4 x 16 int32 to 64 bytes, lane by lane.
HR_TARGET inline __m512i Pack(const __m512i v[4]) {
  return _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
}

HR_TARGET inline __m128i Load16(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

HR_TARGET inline void Store16(std::uint8_t* p, __m128i v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}

// Computes one output position of four rows: lane r holds the four channels of row r.
template <int kParts>
HR_TARGET inline __m512i Position(const ResampleAxis& axis, const Sums<kParts>& start, __m128i bits,
                                  std::int32_t x, const std::uint8_t* const rows[4],
                                  std::int32_t src_begin) {
  // Puts the four taps of a channel next to each other.
  const __m512i by_channel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  Sums<kParts> sums = start;
  const std::uint32_t* words = &axis.bytes[static_cast<std::size_t>(x) * axis.groups * kParts];
  std::size_t at = static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
  for (std::int32_t tap = 0; tap < axis.count[x]; tap += 4, at += 16, words += kParts) {
    __m512i pixels = _mm512_castsi128_si512(Load16(rows[0] + at));
    pixels = _mm512_inserti32x4(pixels, Load16(rows[1] + at), 1);
    pixels = _mm512_inserti32x4(pixels, Load16(rows[2] + at), 2);
    pixels = _mm512_inserti32x4(pixels, Load16(rows[3] + at), 3);
    Accumulate(sums, _mm512_shuffle_epi8(pixels, by_channel), words);
  }
  return Finish(sums, bits);
}

template <int kParts>
HR_TARGET void HorizontalOf(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                            ConstRows src, std::int32_t src_begin, std::int64_t rows,
                            MutableRows dst) {
  const Sums<kParts> start = Start<kParts>(axis);
  const __m128i bits = _mm_cvtsi32_si128(axis.precision_bits);
  for (std::int64_t y = 0; y < rows; y += 4) {
    const std::uint8_t* in[4];
    std::uint8_t* out[4];
    for (int r = 0; r < 4; ++r) {
      const std::int64_t row = std::min(y + r, rows - 1);  // the last row may be made repeatedly
      in[r] = src.data + row * src.stride;
      out[r] = dst.data + row * dst.stride;
    }
    std::size_t at = 0;
    std::int32_t x = begin;
    for (; x + 4 <= end; x += 4, at += 16) {
      const __m512i four[4] = {Position<kParts>(axis, start, bits, x, in, src_begin),
                               Position<kParts>(axis, start, bits, x + 1, in, src_begin),
                               Position<kParts>(axis, start, bits, x + 2, in, src_begin),
                               Position<kParts>(axis, start, bits, x + 3, in, src_begin)};
      const __m512i packed = Pack(four);
      Store16(out[0] + at, _mm512_castsi512_si128(packed));
      Store16(out[1] + at, _mm512_extracti32x4_epi32(packed, 1));
      Store16(out[2] + at, _mm512_extracti32x4_epi32(packed, 2));
      Store16(out[3] + at, _mm512_extracti32x4_epi32(packed, 3));
    }
    for (; x < end; ++x, at += 4) {
      const __m512i one = Position<kParts>(axis, start, bits, x, in, src_begin);
      const __m512i four[4] = {one, one, one, one};
      const __m512i packed = Pack(four);
      _mm_storeu_si32(out[0] + at, _mm512_castsi512_si128(packed));
      _mm_storeu_si32(out[1] + at, _mm512_extracti32x4_epi32(packed, 1));
      _mm_storeu_si32(out[2] + at, _mm512_extracti32x4_epi32(packed, 2));
      _mm_storeu_si32(out[3] + at, _mm512_extracti32x4_epi32(packed, 3));
    }
  }
}

template <int kParts>
HR_TARGET void VerticalOf(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                          ConstRows src, std::int32_t src_begin, std::int64_t src_rows,
                          std::size_t row_bytes, MutableRows dst) {
  const Sums<kParts> start = Start<kParts>(axis);
  const __m128i bits = _mm_cvtsi32_si128(axis.precision_bits);
  for (std::int32_t y = begin; y < end; ++y) {
    const std::uint32_t* all_words =
        &axis.bytes[static_cast<std::size_t>(y) * axis.groups * kParts];
    const std::int64_t first = axis.first[y] - src_begin;
    std::uint8_t* out = dst.data + (y - begin) * dst.stride;
    for (std::size_t x = 0; x < row_bytes; x += 64) {
      Sums<kParts> sums[4] = {start, start, start, start};
      const std::uint32_t* words = all_words;
      for (std::int32_t tap = 0; tap < axis.count[y]; tap += 4, words += kParts) {
        __m512i v[4];
        for (int r = 0; r < 4; ++r) {  // rows past the last have weight zero
          const std::int64_t row = std::min(first + tap + r, src_rows - 1);
          v[r] = _mm512_loadu_si512(src.data + row * src.stride + x);
        }
        const __m512i low01 = _mm512_unpacklo_epi8(v[0], v[1]);
        const __m512i high01 = _mm512_unpackhi_epi8(v[0], v[1]);
        const __m512i low23 = _mm512_unpacklo_epi8(v[2], v[3]);
        const __m512i high23 = _mm512_unpackhi_epi8(v[2], v[3]);
        Accumulate(sums[0], _mm512_unpacklo_epi16(low01, low23), words);
        Accumulate(sums[1], _mm512_unpackhi_epi16(low01, low23), words);
        Accumulate(sums[2], _mm512_unpacklo_epi16(high01, high23), words);
        Accumulate(sums[3], _mm512_unpackhi_epi16(high01, high23), words);
      }
      const __m512i four[4] = {Finish(sums[0], bits), Finish(sums[1], bits), Finish(sums[2], bits),
                               Finish(sums[3], bits)};
      const std::size_t left = row_bytes - x;
      const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
      _mm512_mask_storeu_epi8(out + x, mask, Pack(four));
    }
  }
}

void Horizontal(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                std::int32_t src_begin, std::int64_t rows, MutableRows dst) {
  const auto pass = axis.parts == 2 ? HorizontalOf<2> : HorizontalOf<3>;
  pass(axis, begin, end, src, src_begin, rows, dst);
}

void Vertical(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
              std::int32_t src_begin, std::int64_t src_rows, std::size_t row_bytes,
              MutableRows dst) {
  const auto pass = axis.parts == 2 ? VerticalOf<2> : VerticalOf<3>;
  pass(axis, begin, end, src, src_begin, src_rows, row_bytes, dst);
}

}  // namespace

const ResamplePasses kAvx512VnniPasses = {Horizontal, Vertical};

}  // namespace headrace::ops
#endif
