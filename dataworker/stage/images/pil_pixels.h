#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::images {

// PIL keeps an RGB pixel in four bytes, of which the last one means nothing.

// Writes the three bytes of each pixel. REQUIRES: HasKernels(). Thread-safe.
void PackRgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);

// Writes each pixel of three bytes with a fourth, which is 255 as where PIL does it. REQUIRES:
// HasKernels(). Thread-safe.
void UnpackRgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);

}  // namespace headrace::images
