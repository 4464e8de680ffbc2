#pragma once

#include <cstdint>

namespace headrace::ops {

// PIL's Image.blend(degenerate, image, factor) for one value. Source: libImaging/Blend.c.
[[nodiscard]] inline std::uint8_t Blend(int degenerate, int value, float factor) {
  const float mixed =
      static_cast<float>(degenerate) + factor * static_cast<float>(value - degenerate);
  // Within 0..1 PIL converts without a check, since the result is always in 0..255.
  if (mixed <= 0.0F) return 0;
  if (mixed >= 255.0F) return 255;
  return static_cast<std::uint8_t>(mixed);
}

}  // namespace headrace::ops
