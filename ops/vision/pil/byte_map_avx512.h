#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/pil/byte_map.h"

#if defined(__x86_64__)
// MapValues for CPUs with AVX-512 VBMI.
namespace headrace::ops {

void MapBytesAvx512(std::uint8_t* bytes, std::size_t size, const ByteTable& table);

// Maps consecutive pixels of 3 bytes, or of 4 with an undefined fourth byte.
void MapChannelsAvx512(std::uint8_t* data, std::size_t pixels, std::size_t pixel_stride,
                       const std::array<ByteTable, 3>& tables);

}  // namespace headrace::ops
#endif
