#pragma once

#include <algorithm>
#include <cmath>

#include "ops/vision/tensor/tensor_kernels.h"

// Included in the .cc file of each instruction set, and compiled with its settings.
namespace headrace::ops {

#define HR_INLINE [[gnu::always_inline]] inline

// Clamps and truncates as torch does when it converts to uint8.
HR_INLINE std::uint8_t CutToByte(float value) {
  value = value < 0.0F ? 0.0F : value;
  value = value > 255.0F ? 255.0F : value;
  return static_cast<std::uint8_t>(static_cast<int>(value));
}

// v2's add_(other, alpha=...) is one fused operation.
HR_INLINE std::uint8_t BlendOne(const TensorBlend& blend, float value, float other) {
  const float scaled = blend.ratio * value;
  return CutToByte(blend.api == 1 ? scaled + blend.rest * other
                                  : std::fma(blend.rest, other, scaled));
}

template <int kApi, std::size_t kChannels>
HR_INLINE void SharpenValues(const RowAndNext& rows, std::size_t first, std::size_t end,
                             const TensorBlend& blend, std::uint8_t* out) {
  const std::uint8_t* const above = rows.above;
  const std::uint8_t* const row = rows.row;
  const std::uint8_t* const below = rows.below;
  for (std::size_t i = first; i < end; ++i) {
    const int sum = above[i - kChannels] + above[i] + above[i + kChannels] + row[i - kChannels] +
                    5 * row[i] + row[i + kChannels] + below[i - kChannels] + below[i] +
                    below[i + kChannels];
    // sum / 13 is never half way between two numbers, so the order in which torch sums does not
    // matter. Nor is (sum + 6.5) / 13 within float32's error of a whole number.
    const auto blurred =
        static_cast<float>(static_cast<int>(static_cast<float>(2 * sum + 13) * (1.0F / 26.0F)));
    const auto value = static_cast<float>(row[i]);
    out[i] = kApi == 1 ? CutToByte(blend.ratio * value + blend.rest * blurred)
                       : CutToByte(std::fma(blend.rest, blurred - value, value));
  }
}

HR_INLINE void SharpenAny(const RowAndNext& rows, std::size_t channels, std::size_t first,
                          std::size_t end, const TensorBlend& blend, std::uint8_t* out) {
  if (channels == 1 && blend.api == 1) return SharpenValues<1, 1>(rows, first, end, blend, out);
  if (channels == 1) return SharpenValues<2, 1>(rows, first, end, blend, out);
  if (blend.api == 1) return SharpenValues<1, 3>(rows, first, end, blend, out);
  SharpenValues<2, 3>(rows, first, end, blend, out);
}

#undef HR_INLINE

}  // namespace headrace::ops
