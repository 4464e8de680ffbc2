#include <cstring>

#include "ops/vision/pil/box_blur_passes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx2")))

namespace headrace::ops {
namespace {

constexpr std::size_t kStep = 8;  // values
constexpr std::int64_t kPixel = 4;

HR_TARGET inline __m256i Eight(const std::uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

HR_TARGET inline __m256i Sums(const std::uint32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

HR_TARGET inline void Store(std::uint32_t* p, __m256i sums) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), sums);
}

// Numbers of lines, as BoxPass says.
struct Lines {
  const std::uint8_t *left, *right, *add, *subtract;
};

HR_TARGET void AddLine(const std::uint8_t* line, std::uint32_t times, std::size_t values,
                       std::uint32_t* sums) {
  const __m256i by = _mm256_set1_epi32(static_cast<int>(times));
  std::size_t i = 0;
  for (; i + kStep <= values; i += kStep) {
    Store(sums + i, _mm256_add_epi32(Sums(sums + i), _mm256_mullo_epi32(Eight(line + i), by)));
  }
  for (; i < values; ++i) sums[i] += line[i] * times;
}

HR_TARGET void StepLine(const Lines& lines, const BoxWeights& box, std::size_t values,
                        std::uint32_t* sums, std::uint8_t* out) {
  const __m256i inside = _mm256_set1_epi32(static_cast<int>(box.inside));
  const __m256i end = _mm256_set1_epi32(static_cast<int>(box.end));
  const __m256i half = _mm256_set1_epi32(kBoxHalf);
  std::size_t i = 0;
  for (; i + kStep <= values; i += kStep) {
    const __m256i moved = _mm256_sub_epi32(Eight(lines.add + i), Eight(lines.subtract + i));
    const __m256i sum = _mm256_add_epi32(Sums(sums + i), moved);
    Store(sums + i, sum);
    const __m256i ends = _mm256_add_epi32(Eight(lines.left + i), Eight(lines.right + i));
    const __m256i all = _mm256_add_epi32(
        _mm256_add_epi32(_mm256_mullo_epi32(sum, inside), _mm256_mullo_epi32(ends, end)), half);
    const __m256i bytes = _mm256_srli_epi32(all, kBoxShift);
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), _mm_packus_epi16(words, words));
  }
  for (; i < values; ++i) {
    sums[i] += std::uint32_t{lines.add[i]} - lines.subtract[i];
    const std::uint32_t ends = std::uint32_t{lines.left[i]} + lines.right[i];
    out[i] =
        static_cast<std::uint8_t>((sums[i] * box.inside + ends * box.end + kBoxHalf) >> kBoxShift);
  }
}

void Across(const BoxLines& lines, const BoxWeights& box, const std::uint8_t* in,
            std::uint32_t* sums, std::uint8_t* out) {
  const auto stride = static_cast<std::int64_t>(lines.stride);
  std::memset(sums, 0, lines.values * sizeof(*sums));
  BoxPass(
      lines.count, box.radius,
      [&](std::int64_t n, std::uint32_t times) {
        AddLine(in + n * stride, times, lines.values, sums);
      },
      [&](std::int64_t n, std::int64_t left, std::int64_t right, std::int64_t add,
          std::int64_t subtract) {
        const Lines around{in + left * stride, in + right * stride, in + add * stride,
                           in + subtract * stride};
        StepLine(around, box, lines.values, sums, out + n * stride);
      });
}

HR_TARGET inline __m128i Four(const std::uint8_t* line, std::int64_t n) {
  std::int32_t pixel = 0;
  std::memcpy(&pixel, line + n * kPixel, kPixel);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(pixel));
}

// The channels of one pixel, and those that the box leaves and meets.
struct Pixels {
  __m128i sum, inside, end, half;
};

HR_TARGET inline void StepPixel(Pixels& box, __m128i left, __m128i right, __m128i add,
                                std::uint8_t* out) {
  box.sum = _mm_add_epi32(box.sum, _mm_sub_epi32(add, left));
  const __m128i all =
      _mm_add_epi32(_mm_add_epi32(_mm_mullo_epi32(box.sum, box.inside),
                                  _mm_mullo_epi32(_mm_add_epi32(left, right), box.end)),
                    box.half);
  const __m128i words = _mm_packus_epi32(_mm_srli_epi32(all, kBoxShift), _mm_setzero_si128());
  const std::int32_t pixel = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(out, &pixel, kPixel);
}

HR_TARGET inline __m128i Times(const std::uint8_t* line, std::int64_t n, std::int64_t times) {
  return _mm_mullo_epi32(Four(line, n), _mm_set1_epi32(static_cast<int>(times)));
}

// BoxPass in registers. Its `left` is its `subtract`.
HR_TARGET void Along(std::int64_t pixels, const BoxWeights& box, const std::uint8_t* in,
                     std::uint8_t* out) {
  const std::int64_t last = pixels - 1, radius = box.radius, edge = std::min(radius + 1, pixels);
  Pixels now{_mm_add_epi32(Times(in, 0, radius + 1), Times(in, last, radius - edge + 1)),
             _mm_set1_epi32(static_cast<int>(box.inside)),
             _mm_set1_epi32(static_cast<int>(box.end)), _mm_set1_epi32(kBoxHalf)};
  for (std::int64_t n = 0; n < edge - 1; ++n) now.sum = _mm_add_epi32(now.sum, Four(in, n));
  for (std::int64_t n = 0; n < pixels; ++n) {
    StepPixel(now, Four(in, std::max<std::int64_t>(n - radius - 1, 0)),
              Four(in, std::min(n + radius + 1, last)), Four(in, std::min(n + radius, last)),
              out + n * kPixel);
  }
}

}  // namespace

const BoxBlurKernels kAvx2BoxBlur{Across, Along};

}  // namespace headrace::ops

#endif
