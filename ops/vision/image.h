#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/tensor_spec.h"

// Images: what a TensorSpec of layout kHwc or kChw says, in an image's own words.
namespace headrace::ops {

struct ImageSpec {
  std::int64_t height = 0;  // pixels; 0: any
  std::int64_t width = 0;   // pixels; 0: any
  std::int32_t channels = 3;
  DType dtype = DType::kU8;
  Layout layout = Layout::kHwc;

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(height * width * channels) * DTypeBytes(dtype);
  }
  [[nodiscard]] TensorSpec tensor() const;
  // Reads a tensor's spec. kInvalidArgument: not an image, or one without pixels. kUnsupported:
  // larger than any operator makes.
  static Result<ImageSpec> From(const TensorSpec& tensor);
  // Reads the spec of an array's row, [H, W, C] or [H, W] in the layout kPlain. Errors as From.
  static Result<ImageSpec> FromRow(const TensorSpec& row);
  friend bool operator==(const ImageSpec&, const ImageSpec&) = default;
};

// Ok if the image has pixels, and not more than any operator makes. Errors as ImageSpec::From.
[[nodiscard]] Status CheckPixels(const ImageSpec& spec);

// Part of an image, in pixels. It may lie partly outside the image (PIL's crop fills with zero
// there).
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// All of an image.
[[nodiscard]] inline Window WholeOf(const ImageSpec& spec) {
  return {0, 0, spec.height, spec.width};
}

// One number for each channel, an element (element.h). Numbers past the last channel are ignored.
using ChannelValues = std::array<double, 4>;

// Pixels in the caller's memory. The row stride is in bytes, and pixel_stride too (1, 3 or 4 for u8
// HWC: 4 is RGBX with an undefined fourth byte). ScratchBuffer::kSlack bytes past the last pixel
// may be read. Kernels see u8 HWC images, also for u8 tensors. Operators after the conversion to
// another type are folded (fold.h), or compute on float32 in HWC (floats.h).
struct Image {
  const std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
  // The part of the image in memory: data is the pixel (held.top, held.left). It is the whole image
  // unless an operator announced an InputWindow.
  Window held;

  // The pixel (y, x) of the image. REQUIRES: inside `held`.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return data + (y - held.top) * static_cast<std::int64_t>(row_stride) +
           (x - held.left) * static_cast<std::int64_t>(pixel_stride);
  }

  // A part of `held`, as a separate image. REQUIRES: inside `held`.
  [[nodiscard]] Image Part(const Window& window) const {
    Image part = *this;
    part.data = At(window.top, window.left);
    part.spec.height = window.height;
    part.spec.width = window.width;
    part.held = WholeOf(part.spec);
    return part;
  }
};

}  // namespace headrace::ops
