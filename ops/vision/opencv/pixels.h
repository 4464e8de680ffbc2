#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::images {

// A picture of pixels with three bytes each, in memory of somebody else.
struct Pixels {
  const std::uint8_t* data;  // the first pixel of the first row
  std::ptrdiff_t height, width;
  std::ptrdiff_t stride;  // bytes from a row to the next one; may be negative
};

// Whether this machine has the instructions that the kernels of this folder are written for: AVX2
// and FMA. Nothing else here may be called where it has not.
bool HasKernels();

}  // namespace headrace::images
