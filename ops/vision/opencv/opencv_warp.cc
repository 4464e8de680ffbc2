#include "ops/vision/opencv/opencv_warp.h"

#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "ops/vision/opencv/store_rgb.h"

#define HR_TARGET __attribute__((target("avx2,fma")))

namespace headrace::images {
namespace {

constexpr std::ptrdiff_t kGroup = 16;  // results that OpenCV makes at once
constexpr double kFarthest = 1 << 20;
constexpr std::ptrdiff_t kMostBytes = 1 << 30;

std::uint32_t FourBytes(const std::uint8_t* at) {
  std::uint32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// A neighbour in the source of each of eight results.
struct Neighbours {
  std::uint32_t at[8];
};

// All neighbours of eight results that have theirs inside of the source.
struct InnerNeighbours {
  alignas(32) std::int32_t bytes[8];  // where the first one begins
  const std::uint8_t* upper;
  const std::uint8_t* lower;

  // which: by its row, and then by its column.
  std::uint32_t operator()(int i, int which) const {
    return FourBytes((which < 2 ? upper : lower) + bytes[i] + which % 2 * 3);
  }
};

class Warper {
 public:
  // OpenCV computes places in float32.
  Warper(const Pixels& in, const Warp& warp) : in_(in), warp_(warp) {
    std::memcpy(&outside_, warp.outside.data(), 3);
    for (int i = 0; i < 6; ++i) matrix_[i] = static_cast<float>(warp.matrix[i]);
  }

  HR_TARGET void Row(std::ptrdiff_t y, std::ptrdiff_t width, RgbRow out) const {
    const auto& m = matrix_;
    const auto row = static_cast<float>(y);
    const __m256 x_of = _mm256_set1_ps(row * m[1] + m[2]);
    const __m256 y_of = _mm256_set1_ps(row * m[4] + m[5]);
    __m256 x = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (std::ptrdiff_t done = 0; done < width; done += 8) {
      out.Store8(Eight(_mm256_fmadd_ps(_mm256_set1_ps(m[0]), x, x_of),
                       _mm256_fmadd_ps(_mm256_set1_ps(m[3]), x, y_of)));
      x = _mm256_add_ps(x, _mm256_set1_ps(8));
    }
  }

 private:
  // Four bytes each, of which the last one means nothing.
  HR_TARGET __m256i Eight(__m256 x, __m256 y) const {
    const __m256 left = _mm256_floor_ps(x);
    const __m256 top = _mm256_floor_ps(y);
    const __m256i column = _mm256_cvttps_epi32(left);
    const __m256i row = _mm256_cvttps_epi32(top);
    const __m256 right = _mm256_sub_ps(x, left);
    const __m256 below = _mm256_sub_ps(y, top);
    // Where the four bytes of all neighbours can be read: a pixel of three bytes and another byte.
    if (NoneOutside(column, row, 0, in_.width - 3, in_.height - 2)) {
      return Blend(Inner(column, row), right, below);
    }
    if (warp_.border == Border::kConstant && AllOutside(column, row)) {
      return _mm256_set1_epi32(static_cast<int>(outside_));
    }
    Neighbours made[4];
    Outer(column, row, made);
    return Blend([&made](int i, int which) { return made[which].at[i]; }, right, below);
  }

  // From `least` on both axes to most_x and most_y.
  HR_TARGET static __m256i Outside(__m256i column, __m256i row, int least, std::ptrdiff_t most_x,
                                   std::ptrdiff_t most_y) {
    const __m256i first = _mm256_set1_epi32(least);
    const __m256i last_x = _mm256_set1_epi32(static_cast<int>(most_x));
    const __m256i last_y = _mm256_set1_epi32(static_cast<int>(most_y));
    return _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpgt_epi32(first, column), _mm256_cmpgt_epi32(first, row)),
        _mm256_or_si256(_mm256_cmpgt_epi32(column, last_x), _mm256_cmpgt_epi32(row, last_y)));
  }

  HR_TARGET static bool NoneOutside(__m256i column, __m256i row, int least, std::ptrdiff_t most_x,
                                    std::ptrdiff_t most_y) {
    const __m256i outside = Outside(column, row, least, most_x, most_y);
    return _mm256_testz_si256(outside, outside) != 0;
  }

  HR_TARGET bool AllOutside(__m256i column, __m256i row) const {
    const __m256i outside = Outside(column, row, -1, in_.width - 1, in_.height - 1);
    return _mm256_movemask_epi8(outside) == -1;
  }

  HR_TARGET InnerNeighbours Inner(__m256i column, __m256i row) const {
    InnerNeighbours made{{}, in_.data, in_.data + in_.stride};
    const __m256i stride = _mm256_set1_epi32(static_cast<int>(in_.stride));
    const __m256i bytes = _mm256_add_epi32(_mm256_mullo_epi32(row, stride),
                                           _mm256_mullo_epi32(column, _mm256_set1_epi32(3)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(made.bytes), bytes);
    return made;
  }

  HR_TARGET void Outer(__m256i column, __m256i row, Neighbours* made) const {
    alignas(32) std::int32_t columns[8];
    alignas(32) std::int32_t rows[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(columns), column);
    _mm256_store_si256(reinterpret_cast<__m256i*>(rows), row);
    for (int i = 0; i < 8; ++i) {
      const std::ptrdiff_t xs[2] = {Inside(columns[i], in_.width),
                                    Inside(columns[i] + 1, in_.width)};
      const std::ptrdiff_t ys[2] = {Inside(rows[i], in_.height), Inside(rows[i] + 1, in_.height)};
      for (int which = 0; which < 4; ++which) {
        made[which].at[i] = At(xs[which % 2], ys[which / 2]);
      }
    }
  }

  // -1: outside of the source, where another value stands.
  [[nodiscard]] std::ptrdiff_t Inside(std::ptrdiff_t at, std::ptrdiff_t size) const {
    if (at >= 0 && at < size) return at;
    if (warp_.border == Border::kConstant) return -1;
    if (warp_.border == Border::kReplicate || size == 1) return at < 0 ? 0 : size - 1;
    const std::ptrdiff_t edge = warp_.border == Border::kReflect101 ? 1 : 0;
    while (at < 0 || at >= size) at = at < 0 ? edge - 1 - at : 2 * size - 1 - edge - at;
    return at;
  }

  [[nodiscard]] std::uint32_t At(std::ptrdiff_t x, std::ptrdiff_t y) const {
    if (x < 0 || y < 0) return outside_;
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, in_.data + y * in_.stride + 3 * x, 3);
    return bytes;
  }

  // neighbour(i, which): as InnerNeighbours.
  template <typename Neighbour>
  HR_TARGET static __m256i Blend(const Neighbour& neighbour, __m256 right, __m256 below) {
    const __m256i pair = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    __m256i made[4];
    for (int j = 0; j < 4; ++j) {
      const int i = 2 * j;
      const auto two = [&](int which)
                           HR_TARGET { return Two(neighbour(i, which), neighbour(i + 1, which)); };
      const __m256i places = _mm256_add_epi32(pair, _mm256_set1_epi32(i));
      const __m256 across = _mm256_permutevar8x32_ps(right, places);
      const __m256 upper = Between(two(0), two(1), across);
      const __m256 lower = Between(two(2), two(3), across);
      made[j] = _mm256_cvtps_epi32(Between(upper, lower, _mm256_permutevar8x32_ps(below, places)));
    }
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(made[0], made[1]),
                                               _mm256_packs_epi32(made[2], made[3]));
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }

  HR_TARGET static __m256 Two(std::uint32_t first, std::uint32_t second) {
    const __m128i bytes =
        _mm_insert_epi32(_mm_cvtsi32_si128(static_cast<int>(first)), static_cast<int>(second), 1);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  }

  // The product is not rounded before it is added.
  HR_TARGET static __m256 Between(__m256 from, __m256 to, __m256 part) {
    return _mm256_fmadd_ps(part, _mm256_sub_ps(to, from), from);
  }

  const Pixels in_;
  const Warp warp_;
  std::array<float, 6> matrix_{};
  std::uint32_t outside_ = 0;
};

bool IsNear(const std::array<double, 6>& m, double height, double width) {
  for (int axis = 0; axis < 6; axis += 3) {
    const double farthest =
        std::abs(m[axis]) * width + std::abs(m[axis + 1]) * height + std::abs(m[axis + 2]);
    if (!(farthest < kFarthest)) return false;  // also what is not finite
  }
  return true;
}

}  // namespace

std::array<double, 6> Inverted(const std::array<double, 6>& matrix) {
  std::array<double, 6> m = matrix;
  double scale = m[0] * m[4] - m[1] * m[3];
  scale = scale != 0 ? 1.0 / scale : 0;
  const double first = m[4] * scale;
  const double fifth = m[0] * scale;
  m[0] = first;
  m[1] *= -scale;
  m[3] *= -scale;
  m[4] = fifth;
  const double x = -m[0] * m[2] - m[1] * m[5];
  const double y = -m[3] * m[2] - m[4] * m[5];
  m[2] = x;
  m[5] = y;
  return m;
}

bool WarpLinear(const Pixels& in, const Warp& warp, std::ptrdiff_t height, std::ptrdiff_t width,
                std::uint8_t* out) {
  if (width % kGroup != 0 || in.height * in.stride > kMostBytes) return false;
  if (!IsNear(warp.matrix, static_cast<double>(height), static_cast<double>(width))) return false;
  const Warper warper(in, warp);
  for (std::ptrdiff_t y = 0; y < height; ++y) warper.Row(y, width, RgbRow(out, y, height, width));
  return true;
}

}  // namespace headrace::images
