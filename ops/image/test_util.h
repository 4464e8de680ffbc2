#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/op.h"

namespace headrace::ops {

// An image in memory of its own, with the slack that kernels may read. REQUIRES: a test writes the
// pixels, at `pixels`, in the strides of `image`.
struct ImageMemory {
  ScratchBuffer memory;
  Image image;
  std::uint8_t* pixels;

  ImageMemory(std::int64_t height, std::int64_t width, int channels, int pixel_bytes,
              std::size_t row_slack = 0) {
    image.pixel_stride = static_cast<std::size_t>(pixel_bytes);
    image.row_stride = image.pixel_stride * static_cast<std::size_t>(width) + row_slack;
    pixels = memory.Ensure(image.row_stride * static_cast<std::size_t>(height));
    image.data = pixels;
    image.spec = ImageSpec{height, width, channels, DType::kU8, Layout::kHwc};
  }
};

// The pixels of an image, row by row, without what lies between them.
inline std::vector<std::uint8_t> Packed(const Image& image) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t y = 0; y < image.spec.height; ++y) {
    for (std::int64_t x = 0; x < image.spec.width; ++x) {
      const std::uint8_t* pixel = image.data + y * image.row_stride + x * image.pixel_stride;
      bytes.insert(bytes.end(), pixel, pixel + image.spec.channels);
    }
  }
  return bytes;
}

}  // namespace headrace::ops
