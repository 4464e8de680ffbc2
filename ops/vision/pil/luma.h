#pragma once

#include "ops/vision/image.h"

namespace headrace::ops {

// PIL's convert("L") for one RGB pixel. Source: libImaging/Convert.c, macro L24.
[[nodiscard]] constexpr std::uint8_t Luma(std::uint8_t r, std::uint8_t g, std::uint8_t b) {
  return static_cast<std::uint8_t>((19595U * r + 38470U * g + 7471U * b + 0x8000U) >> 16);
}

// The luminance of the held part of an image with 1 or 3 channels, in out->spec.channels equal
// channels, packed in `memory`. REQUIRES: out->held == in.held.
void ConvertToLuma(const Image& in, ScratchBuffer& memory, Image* out);

}  // namespace headrace::ops
