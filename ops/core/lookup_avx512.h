#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_LOOKUP_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2")))

// Lookups of bytes in tables of 256 elements, 64 at a time, in registers.
namespace headrace::ops::lookup {

inline constexpr std::int64_t kStep = 64;  // values of a step

// In each step of 64 values, the groups of four are in the order of the transpose of their 4 x 4
// arrangement (0 4 8 12 1 5 ...), which puts the bytes of 32-bit results in order.
HR_LOOKUP_TARGET inline __m512i Transpose(__m512i groups) {
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), groups);
}

HR_LOOKUP_TARGET inline __mmask64 FirstBytes(std::int64_t n) {
  return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
}

// 256 bytes in registers.
struct ByteTable {
  __m512i quarter[4];
};

struct QuarterMasks {
  __mmask64 second, third, fourth;
};

HR_LOOKUP_TARGET inline QuarterMasks MasksOf(__m512i index) {
  const __mmask64 upper = _mm512_movepi8_mask(index);
  const __mmask64 odd = _mm512_test_epi8_mask(index, _mm512_set1_epi8(0x40));
  return {odd & ~upper, upper & ~odd, upper & odd};
}

HR_LOOKUP_TARGET inline __m512i Lookup(const ByteTable& table, __m512i index,
                                       const QuarterMasks& in) {
  __m512i v = _mm512_permutexvar_epi8(index, table.quarter[0]);
  v = _mm512_mask_permutexvar_epi8(v, in.second, index, table.quarter[1]);
  v = _mm512_mask_permutexvar_epi8(v, in.third, index, table.quarter[2]);
  return _mm512_mask_permutexvar_epi8(v, in.fourth, index, table.quarter[3]);
}

// Byte `part` of each of the 256 elements.
template <int kBytes>
HR_LOOKUP_TARGET inline void LoadPart(const std::uint8_t* table, int part, ByteTable* out) {
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
inline bool IsStreamed(const std::uint8_t* out, std::size_t row_bytes, std::size_t rows) {
  constexpr std::size_t kMinBytes = std::size_t{128} << 10;
  return reinterpret_cast<std::uintptr_t>(out) % 64 == 0 && row_bytes % 64 == 0 &&
         row_bytes * rows >= kMinBytes;
}

template <bool kStream>
HR_LOOKUP_TARGET inline void Store32(__m512i v, std::int64_t n, std::uint8_t* out) {
  if constexpr (kStream) {
    if (n >= 16) _mm512_stream_si512(reinterpret_cast<__m512i*>(out), v);
    return;
  }
  const std::int64_t lanes = std::clamp<std::int64_t>(n, 0, 16);
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>((1U << lanes) - 1), v);
}

HR_LOOKUP_TARGET inline void Store16(__m512i v, std::int64_t n, std::uint8_t* out) {
  const std::int64_t lanes = std::clamp<std::int64_t>(n, 0, 32);
  _mm512_mask_storeu_epi16(out, static_cast<__mmask32>((std::uint64_t{1} << lanes) - 1), v);
}

// Looks n values up and writes their elements in order.
template <int kBytes, bool kStream>
HR_LOOKUP_TARGET inline void LookupStep(const ByteTable* parts, __m512i index, std::int64_t n,
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

}  // namespace headrace::ops::lookup
#endif
