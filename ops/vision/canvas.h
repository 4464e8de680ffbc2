#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/image.h"

namespace headrace::ops {

// Writable pixels; strides as in Image. Bytes between the channels of two pixels of a row may be
// written too.
struct Canvas {
  std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
};

// Calls per_pixel(std::uint8_t*) for each pixel.
template <typename PerPixel>
void ForEachPixel(const Canvas& image, PerPixel per_pixel) {
  for (std::int64_t y = 0; y < image.spec.height; ++y) {
    std::uint8_t* p = image.data + static_cast<std::size_t>(y) * image.row_stride;
    std::uint8_t* const end = p + static_cast<std::size_t>(image.spec.width) * image.pixel_stride;
    for (; p != end; p += image.pixel_stride) per_pixel(p);
  }
}

// Calls per_run(std::uint8_t* first pixel, std::size_t pixels) for consecutive pixels: for each
// row, or once if no bytes lie between the rows.
template <typename PerRun>
void ForEachRun(const Canvas& image, PerRun per_run) {
  auto rows = static_cast<std::size_t>(image.spec.height);
  auto pixels = static_cast<std::size_t>(image.spec.width);
  if (image.row_stride == pixels * image.pixel_stride) {
    pixels *= rows;
    rows = rows == 0 ? 0 : 1;
  }
  for (std::size_t y = 0; y < rows; ++y) per_run(image.data + y * image.row_stride, pixels);
}

}  // namespace headrace::ops
