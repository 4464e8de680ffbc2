#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "ops/vision/canvas.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// An image in its own memory, with the slack that kernels may read. REQUIRES: a test writes the
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
  [[nodiscard]] Canvas canvas() const {
    return {pixels, image.row_stride, image.pixel_stride, image.spec};
  }
};

// An image of random bytes, also between its rows and in the 64 bytes after the last row.
struct RandomCanvas : ImageMemory {
  RandomCanvas(std::int64_t height, std::int64_t width, int channels, int pixel_bytes,
               std::size_t row_slack, std::uint32_t seed)
      : ImageMemory(height, width, channels, pixel_bytes, row_slack) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < size(); ++i) pixels[i] = static_cast<std::uint8_t>(random());
  }
  // The bytes outside the rows.
  [[nodiscard]] std::vector<std::uint8_t> Around() const {
    std::vector<std::uint8_t> bytes;
    const std::size_t row = static_cast<std::size_t>(image.spec.width) * image.pixel_stride;
    const auto rows = static_cast<std::size_t>(image.spec.height);
    for (std::size_t i = 0; i < size(); ++i) {
      if (i / image.row_stride >= rows || i % image.row_stride >= row) bytes.push_back(pixels[i]);
    }
    return bytes;
  }

 private:
  [[nodiscard]] std::size_t size() const {
    return image.row_stride * static_cast<std::size_t>(image.spec.height) + ScratchBuffer::kSlack;
  }
};

// The levels that this CPU has.
inline std::vector<PointwiseLevel> PointwiseLevels() {
  std::vector<PointwiseLevel> levels;
  for (int i = 0; i <= static_cast<int>(DetectPointwiseLevel()); ++i) {
    levels.push_back(static_cast<PointwiseLevel>(i));
  }
  return levels;
}

// The pixels of an image, row by row, without the bytes between them.
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
