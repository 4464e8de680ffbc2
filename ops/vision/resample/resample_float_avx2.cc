#include <algorithm>
#include <cstring>

#include "ops/vision/resample/resample_passes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx2,fma")))

namespace headrace::ops {
namespace {

constexpr int kBlock = FloatPasses::kBlock;

// Adds one tap: a rounded product in a whole block, a fused one among the remaining taps.
template <bool kFused>
HR_TARGET inline __m256 Add(__m256 sum, __m256 values, __m256 weight) {
  return kFused ? _mm256_fmadd_ps(values, weight, sum)
                : _mm256_add_ps(sum, _mm256_mul_ps(values, weight));
}

HR_TARGET inline __m256 LoadFloats(const float* p) { return _mm256_loadu_ps(p); }
HR_TARGET inline __m256 LoadFloats(const std::uint8_t* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

// The pixels at `at` in two rows, with the three pixels that follow each.
HR_TARGET inline __m256i FourPixels(const std::uint8_t* row0, const std::uint8_t* row1,
                                    std::size_t at) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row0 + at))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(row1 + at)), 1);
}

// The four channels of the first pixel.
HR_TARGET inline __m256 FirstPixel(__m256i pixels) {
  const __m256i channels = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1));
  return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, channels));
}

template <bool kFused>
HR_TARGET inline __m256 AddPixels(__m256 sum, __m256i pixels, const float* weights, int count) {
  for (int i = 0; i < count; ++i) {
    sum = Add<kFused>(sum, FirstPixel(pixels), _mm256_set1_ps(weights[i]));
    pixels = _mm256_srli_si256(pixels, 4);
  }
  return sum;
}

// Reads one pixel of floats of two rows.
HR_TARGET inline __m256 FloatPixel(const float* row0, const float* row1) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row0)), _mm_loadu_ps(row1), 1);
}

// Computes one output position of two rows: lane r holds the four channels of row r.
HR_TARGET inline __m256 Position(const ResampleAxis& axis, std::int32_t x, const float* row0,
                                 const float* row1, std::int32_t src_begin) {
  const std::int32_t count = axis.count[x];
  if (count == 0) return _mm256_setzero_ps();
  const float* weights = &axis.factor[static_cast<std::size_t>(x) * axis.groups * kBlock];
  const std::size_t at = static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
  row0 += at;
  row1 += at;
  __m256 sum = _mm256_mul_ps(FloatPixel(row0, row1), _mm256_set1_ps(weights[0]));
  std::int32_t tap = 1;
  const std::int32_t whole = tap + (count - tap) / kBlock * kBlock;
  for (; tap < whole; ++tap) {
    sum = Add<false>(sum, FloatPixel(row0 + 4 * tap, row1 + 4 * tap), _mm256_set1_ps(weights[tap]));
  }
  for (; tap < count; ++tap) {
    sum = Add<true>(sum, FloatPixel(row0 + 4 * tap, row1 + 4 * tap), _mm256_set1_ps(weights[tap]));
  }
  return sum;
}

// The same of bytes.
HR_TARGET inline __m256 Position(const ResampleAxis& axis, std::int32_t x, const std::uint8_t* row0,
                                 const std::uint8_t* row1, std::int32_t src_begin) {
  const std::int32_t count = axis.count[x];
  if (count == 0) return _mm256_setzero_ps();
  const float* weights = &axis.factor[static_cast<std::size_t>(x) * axis.groups * kBlock];
  std::size_t at = static_cast<std::size_t>(axis.first[x] - src_begin) * 4;
  __m256 sum = _mm256_mul_ps(FirstPixel(FourPixels(row0, row1, at)), _mm256_set1_ps(weights[0]));
  std::int32_t tap = 1;
  at += 4;
  for (; count - tap >= kBlock; tap += kBlock, at += 4 * kBlock) {
    sum = AddPixels<false>(sum, FourPixels(row0, row1, at), weights + tap, kBlock);
  }
  if (tap == count) return sum;
  return AddPixels<true>(sum, FourPixels(row0, row1, at), weights + tap, count - tap);
}

HR_TARGET inline void Store(__m256 sums, float* out0, float* out1) {
  _mm_storeu_ps(out0, _mm256_castps256_ps128(sums));
  _mm_storeu_ps(out1, _mm256_extractf128_ps(sums, 1));
}

HR_TARGET inline void Store(__m256 sums, std::uint8_t* out0, std::uint8_t* out1) {
  const __m256i whole = _mm256_cvtps_epi32(sums);  // half to even
  const __m256i words = _mm256_packs_epi32(whole, whole);
  const __m256i bytes = _mm256_packus_epi16(words, words);
  _mm_storeu_si32(out0, _mm256_castsi256_si128(bytes));
  _mm_storeu_si32(out1, _mm256_extracti128_si256(bytes, 1));
}

template <typename Out, typename In = std::uint8_t>
HR_TARGET void Horizontal(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                          ConstRows src, std::int32_t src_begin, std::int64_t rows,
                          MutableRows dst) {
  for (std::int64_t y = 0; y < rows; y += 2) {
    const std::int64_t second = std::min(y + 1, rows - 1);  // the last row may be made twice
    const In* in0 = reinterpret_cast<const In*>(src.data + y * src.stride);
    const In* in1 = reinterpret_cast<const In*>(src.data + second * src.stride);
    Out* out0 = reinterpret_cast<Out*>(dst.data + y * dst.stride);
    Out* out1 = reinterpret_cast<Out*>(dst.data + second * dst.stride);
    for (std::int32_t x = begin; x < end; ++x, out0 += 4, out1 += 4) {
      Store(Position(axis, x, in0, in1, src_begin), out0, out1);
    }
  }
}

// Rounds 32 floats to bytes.
HR_TARGET inline __m256i Round(const __m256 sums[4]) {
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(sums[0]), _mm256_cvtps_epi32(sums[1]));
  const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(sums[2]), _mm256_cvtps_epi32(sums[3]));
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), in_order);
}

// Writes the first `count` of 32 values.
HR_TARGET inline void Store(const __m256 sums[4], std::size_t count, std::uint8_t* out) {
  alignas(32) std::uint8_t bytes[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(bytes), Round(sums));
  std::memcpy(out, bytes, std::min<std::size_t>(32, count));
}

HR_TARGET inline void Store(const __m256 sums[4], std::size_t count, float* out) {
  alignas(32) float values[32];
  for (int i = 0; i < 4; ++i) _mm256_store_ps(values + 8 * i, sums[i]);
  std::memcpy(out, values, std::min<std::size_t>(32, count) * sizeof(float));
}

template <bool kFused, typename In>
HR_TARGET inline void AddRow(__m256 sums[4], const In* row, float factor) {
  const __m256 weight = _mm256_set1_ps(factor);
  for (int i = 0; i < 4; ++i) sums[i] = Add<kFused>(sums[i], LoadFloats(row + 8 * i), weight);
}

template <typename In, typename Out = std::uint8_t>
HR_TARGET void Vertical(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                        ConstRows src, std::int32_t src_begin, std::size_t row_values,
                        MutableRows dst) {
  for (std::int32_t y = begin; y < end; ++y) {
    const float* weights = &axis.factor[static_cast<std::size_t>(y) * axis.groups * kBlock];
    const std::int32_t count = axis.count[y];
    const std::uint8_t* first = src.data + (axis.first[y] - src_begin) * src.stride;
    Out* out = reinterpret_cast<Out*>(dst.data + (y - begin) * dst.stride);
    const auto row = [&](std::int32_t tap, std::size_t x) {
      return reinterpret_cast<const In*>(first + tap * src.stride) + x;
    };
    for (std::size_t x = 0; x < row_values; x += 32) {
      __m256 sums[4];
      const __m256 weight = _mm256_set1_ps(weights[0]);
      for (int i = 0; i < 4; ++i) {
        sums[i] =
            count == 0 ? _mm256_setzero_ps() : _mm256_mul_ps(LoadFloats(row(0, x) + 8 * i), weight);
      }
      std::int32_t tap = 1;
      const std::int32_t whole = tap + std::max(count - tap, 0) / kBlock * kBlock;
      for (; tap < whole; ++tap) AddRow<false>(sums, row(tap, x), weights[tap]);
      for (; tap < count; ++tap) AddRow<true>(sums, row(tap, x), weights[tap]);
      Store(sums, row_values - x, out + x);
    }
  }
}

}  // namespace

const FloatPasses kAvx2FloatPasses = {Horizontal<float>,        Horizontal<std::uint8_t>,
                                      Vertical<float>,          Vertical<std::uint8_t>,
                                      Horizontal<float, float>, Vertical<float, float>};

}  // namespace headrace::ops
#endif
