#pragma once

#include <cstddef>

namespace headrace::images {

// Pixels of three elements each. The elements have 1 byte or 4 bytes.
struct Interleaved {
  const std::byte* data;
  std::ptrdiff_t rows, width;
  std::ptrdiff_t stride;  // bytes from a row to the next one; may be negative
  std::size_t element;    // bytes
};

// Writes three planes of rows * width elements, one after the other. REQUIRES: HasKernels(); rows,
// width >= 1; `out` does not overlap the pixels. Thread-safe.
void ToPlanes(const Interleaved& in, std::byte* out);

}  // namespace headrace::images
