#pragma once

#include <cstddef>
#include <cstdint>

// One row of ImageEnhance.Sharpness, for one instruction set. All give the same bits.
namespace headrace::ops {

// Three rows of an image, each of `values` bytes of packed pixels. Neighbours in a row are
// `stride` bytes apart.
struct SharpnessRow {
  const std::uint8_t* above = nullptr;
  const std::uint8_t* row = nullptr;
  const std::uint8_t* below = nullptr;
  std::size_t values = 0;
  std::size_t stride = 0;
};

// ImageFilter.SMOOTH: the pixel 5 times, its neighbours once, by 13.
inline constexpr float kSmoothNear = 1.0F / 13.0F;
inline constexpr float kSmoothCenter = 5.0F / 13.0F;

// Writes values of the row's inside, from the second pixel on, to the same places of `out`. Returns
// the first value that it left.
#if defined(__x86_64__)
std::size_t SharpenRowAvx2(const SharpnessRow& in, float factor, std::uint8_t* out);
#endif

}  // namespace headrace::ops
