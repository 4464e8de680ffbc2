#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/image.h"

namespace headrace::ops {

// Copies HWC u8 pixels of any pixel stride into rows `row_stride` bytes apart. 1 channel is packed;
// 3 channels become 4-byte pixels whose last byte is undefined. Reads no byte past the last pixel.
// REQUIRES: row_stride >= width * (channels == 1 ? 1 : 4).
void CopyPixels(const Image& in, std::uint8_t* out, std::size_t row_stride);

}  // namespace headrace::ops
