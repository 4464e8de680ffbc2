#pragma once

#include <array>
#include <cstdint>

#include "ops/core/op.h"

namespace headrace::ops {

// Pixels that may be written; strides as in Image.
struct Canvas {
  std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
};

// per_pixel(std::uint8_t*) for each pixel.
template <typename PerPixel>
void ForEachPixel(const Canvas& image, PerPixel per_pixel) {
  for (std::int64_t y = 0; y < image.spec.height; ++y) {
    std::uint8_t* p = image.data + static_cast<std::size_t>(y) * image.row_stride;
    std::uint8_t* const end = p + static_cast<std::size_t>(image.spec.width) * image.pixel_stride;
    for (; p != end; p += image.pixel_stride) per_pixel(p);
  }
}

using ByteTable = std::array<std::uint8_t, 256>;

// Puts each value through the table of its channel. REQUIRES: 1 or 3 channels; the tables behind
// the last channel are not looked at.
inline void MapValues(const Canvas& image, const std::array<ByteTable, 3>& tables) {
  if (image.spec.channels == 1) {
    ForEachPixel(image, [&](std::uint8_t* p) { p[0] = tables[0][p[0]]; });
  } else {
    ForEachPixel(image, [&](std::uint8_t* p) {
      p[0] = tables[0][p[0]];
      p[1] = tables[1][p[1]];
      p[2] = tables[2][p[2]];
    });
  }
}

// The same table, of value_of(int) for each value, for all channels.
template <typename ValueOf>
void MapValues(const Canvas& image, ValueOf value_of) {
  std::array<ByteTable, 3> tables;
  for (int v = 0; v < 256; ++v) {
    tables[0][static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(value_of(v));
  }
  tables[2] = tables[1] = tables[0];
  MapValues(image, tables);
}

}  // namespace headrace::ops
