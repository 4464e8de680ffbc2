#include "dataworker/stage/images/planes.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "dataworker/stage/images/pixel_order.h"

namespace headrace::images {
namespace {

constexpr std::ptrdiff_t kWord = 4;

// Of three vectors with eight pixels, the elements of one plane, each in the lane that it has there;
// then in their order. kFromB, kFromC: the lanes that come from the second and the third vector.
template <int kFromB, int kFromC>
__attribute__((target("avx2"))) __m256i PlaneOf(__m256i a, __m256i b, __m256i c, __m256i order) {
  const __m256i lanes = _mm256_blend_epi32(_mm256_blend_epi32(a, b, kFromB), c, kFromC);
  return _mm256_permutevar8x32_epi32(lanes, order);
}

__attribute__((target("avx2"))) void WordsToPlanes(const std::byte* row, std::ptrdiff_t width,
                                                   std::byte* first, std::ptrdiff_t plane) {
  const __m256i order0 = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
  const __m256i order1 = _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6);
  const __m256i order2 = _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7);
  const auto store = [](std::byte * to, __m256i elements) __attribute__((target("avx2"))) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), elements);
  };
  std::ptrdiff_t x = 0;
  for (; x + 8 <= width; x += 8) {
    const auto* from = reinterpret_cast<const __m256i*>(row + 3 * kWord * x);
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    const __m256i c = _mm256_loadu_si256(from + 2);
    std::byte* const to = first + kWord * x;
    store(to, PlaneOf<0x92, 0x24>(a, b, c, order0));
    store(to + plane, PlaneOf<0x24, 0x49>(a, b, c, order1));
    store(to + 2 * plane, PlaneOf<0x49, 0x92>(a, b, c, order2));
  }
  for (; x < width; ++x) {
    for (std::ptrdiff_t channel = 0; channel < 3; ++channel) {
      std::memcpy(first + channel * plane + kWord * x, row + kWord * (3 * x + channel), kWord);
    }
  }
}

}  // namespace

void ToPlanes(const Interleaved& in, std::byte* out) {
  if (in.element == 1) {
    const Pixels pixels{reinterpret_cast<const std::uint8_t*>(in.data), in.rows, in.width,
                        in.stride};
    CopyPixels(pixels, Order{.planar = true, .mirrored = false, .reversed = false},
               reinterpret_cast<std::uint8_t*>(out));
    return;
  }
  const std::ptrdiff_t plane = kWord * in.rows * in.width;
  for (std::ptrdiff_t y = 0; y < in.rows; ++y) {
    WordsToPlanes(in.data + y * in.stride, in.width, out + kWord * y * in.width, plane);
  }
}

}  // namespace headrace::images
