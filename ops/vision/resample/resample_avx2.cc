#include <algorithm>
#include <cstring>

#include "ops/vision/resample/resample_passes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx2")))

namespace headrace::ops {
namespace {

// Sums of products with each part of the weights, the highest part first. The weighted sum of the
// two parts wraps to the same int32 as the plain sum of products.
template <int kParts>
struct Sums {
  __m256i part[kParts];
};

// Weights of two parts are always Pillow's. Knowing this at compile time saves registers.
template <int kParts>
int BitsOf(const ResampleAxis& axis) {
  return kParts == 2 ? ResampleAxis::kPillowBits : axis.precision_bits;
}

template <int kParts>
HR_TARGET inline Sums<kParts> Start(int precision_bits) {
  Sums<kParts> sums;
  for (int i = 0; i < kParts - 1; ++i) sums.part[i] = _mm256_setzero_si256();
  sums.part[kParts - 1] = _mm256_set1_epi32(1 << (precision_bits - 1));
  return sums;
}

// words: each part of two taps.
template <int kParts>
HR_TARGET inline void Accumulate(Sums<kParts>& sums, __m256i pixels, const std::uint32_t* words) {
  for (int i = 0; i < kParts; ++i) {
    const __m256i weights = _mm256_set1_epi32(static_cast<int>(words[i]));
    sums.part[i] = _mm256_add_epi32(sums.part[i], _mm256_madd_epi16(pixels, weights));
  }
}

template <int kParts>
HR_TARGET inline __m256i Finish(const Sums<kParts>& sums, int precision_bits) {
  __m256i sum = sums.part[0];
  if constexpr (kParts == 2) {
    sum = _mm256_add_epi32(sums.part[1], _mm256_slli_epi32(sum, ResampleAxis::kLowPartBits));
  }
  return _mm256_srai_epi32(sum, precision_bits);
}

// Saturates 4 x 8 int32 to 32 bytes, lane by lane.
HR_TARGET inline __m256i Pack(const __m256i v[4]) {
  return _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
}

HR_TARGET inline __m256i LoadTwo(const std::uint8_t* low, const std::uint8_t* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

// Computes one output position of two rows: lane r holds the four channels of row r.
template <int kParts>
HR_TARGET inline __m256i Position(const ResampleAxis& axis, int bits, std::int32_t x,
                                  const std::uint8_t* row0, const std::uint8_t* row1,
                                  std::int32_t src_begin) {
  // Puts two taps of a channel next to each other, as 16-bit numbers.
  const __m256i taps01 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
  const __m256i taps23 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1));
  Sums<kParts> sums = Start<kParts>(bits);
  const std::uint32_t* words = &axis.pairs[static_cast<std::size_t>(x) * axis.groups * 2 * kParts];
  std::size_t at = static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
  for (std::int32_t tap = 0; tap < axis.count[x]; tap += 4, at += 16, words += 2 * kParts) {
    const __m256i pixels = LoadTwo(row0 + at, row1 + at);
    Accumulate(sums, _mm256_shuffle_epi8(pixels, taps01), words);
    Accumulate(sums, _mm256_shuffle_epi8(pixels, taps23), words + kParts);
  }
  return Finish(sums, bits);
}

template <int kParts>
HR_TARGET void HorizontalOf(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                            ConstRows src, std::int32_t src_begin, std::int64_t rows,
                            MutableRows dst) {
  const int bits = BitsOf<kParts>(axis);
  for (std::int64_t y = 0; y < rows; y += 2) {
    const std::int64_t second = std::min(y + 1, rows - 1);  // the last row may be made twice
    const std::uint8_t* in0 = src.data + y * src.stride;
    const std::uint8_t* in1 = src.data + second * src.stride;
    std::uint8_t* out0 = dst.data + y * dst.stride;
    std::uint8_t* out1 = dst.data + second * dst.stride;
    std::int32_t x = begin;
    for (; x + 4 <= end; x += 4, out0 += 16, out1 += 16) {
      const __m256i four[4] = {Position<kParts>(axis, bits, x, in0, in1, src_begin),
                               Position<kParts>(axis, bits, x + 1, in0, in1, src_begin),
                               Position<kParts>(axis, bits, x + 2, in0, in1, src_begin),
                               Position<kParts>(axis, bits, x + 3, in0, in1, src_begin)};
      const __m256i packed = Pack(four);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out0), _mm256_castsi256_si128(packed));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out1), _mm256_extracti128_si256(packed, 1));
    }
    for (; x < end; ++x, out0 += 4, out1 += 4) {
      const __m256i one = Position<kParts>(axis, bits, x, in0, in1, src_begin);
      const __m256i four[4] = {one, one, one, one};
      const __m256i packed = Pack(four);
      _mm_storeu_si32(out0, _mm256_castsi256_si128(packed));
      _mm_storeu_si32(out1, _mm256_extracti128_si256(packed, 1));
    }
  }
}

template <int kParts>
HR_TARGET void VerticalOf(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                          ConstRows src, std::int32_t src_begin, std::int64_t src_rows,
                          std::size_t row_bytes, MutableRows dst) {
  const __m256i zero = _mm256_setzero_si256();
  const int bits = BitsOf<kParts>(axis);
  for (std::int32_t y = begin; y < end; ++y) {
    const std::uint32_t* all_words =
        &axis.pairs[static_cast<std::size_t>(y) * axis.groups * 2 * kParts];
    const std::int64_t first = axis.first[y] - src_begin;
    std::uint8_t* out = dst.data + (y - begin) * dst.stride;
    for (std::size_t x = 0; x < row_bytes; x += 32) {
      Sums<kParts> sums[4] = {Start<kParts>(bits), Start<kParts>(bits), Start<kParts>(bits),
                              Start<kParts>(bits)};
      const std::uint32_t* words = all_words;
      for (std::int32_t tap = 0; tap < axis.count[y]; tap += 2, words += kParts) {
        const std::int64_t next = std::min(first + tap + 1, src_rows - 1);  // past it: weight zero
        const __m256i a = _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(src.data + (first + tap) * src.stride + x));
        const __m256i b =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src.data + next * src.stride + x));
        const __m256i low = _mm256_unpacklo_epi8(a, b);
        const __m256i high = _mm256_unpackhi_epi8(a, b);
        Accumulate(sums[0], _mm256_unpacklo_epi8(low, zero), words);
        Accumulate(sums[1], _mm256_unpackhi_epi8(low, zero), words);
        Accumulate(sums[2], _mm256_unpacklo_epi8(high, zero), words);
        Accumulate(sums[3], _mm256_unpackhi_epi8(high, zero), words);
      }
      const __m256i four[4] = {Finish(sums[0], bits), Finish(sums[1], bits), Finish(sums[2], bits),
                               Finish(sums[3], bits)};
      const __m256i packed = Pack(four);
      if (row_bytes - x >= 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), packed);
      } else {
        alignas(32) std::uint8_t tail[32];
        _mm256_store_si256(reinterpret_cast<__m256i*>(tail), packed);
        std::memcpy(out + x, tail, row_bytes - x);
      }
    }
  }
}

void Horizontal(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                std::int32_t src_begin, std::int64_t rows, MutableRows dst) {
  const auto pass = axis.parts == 1 ? HorizontalOf<1> : HorizontalOf<2>;
  pass(axis, begin, end, src, src_begin, rows, dst);
}

void Vertical(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
              std::int32_t src_begin, std::int64_t src_rows, std::size_t row_bytes,
              MutableRows dst) {
  const auto pass = axis.parts == 1 ? VerticalOf<1> : VerticalOf<2>;
  pass(axis, begin, end, src, src_begin, src_rows, row_bytes, dst);
}

}  // namespace

const ResamplePasses kAvx2Passes = {Horizontal, Vertical};

}  // namespace headrace::ops
#endif
