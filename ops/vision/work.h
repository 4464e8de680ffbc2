#pragma once

#include <span>
#include <utility>

#include "base/buffer.h"
#include "ops/vision/canvas.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// An image that is changed step by step. It starts as the input, which is not written to. From the
// first change on, it lies in `memory`.
class Work {
 public:
  Work(const Image& in, ScratchBuffer& memory, ScratchBuffer& spare)
      : image_(in), memory_(memory), spare_(spare) {}

  [[nodiscard]] const Image& image() const { return image_; }

  // Returns the image for changes in place.
  Canvas Writable() {
    if (image_.data != memory_.data()) {
      std::uint8_t* pixels = memory_.Ensure(image_.spec.bytes());
      ToPacked(image_, {}, std::span(pixels, image_.spec.bytes()));
      Adopt(pixels);
    }
    return {memory_.data(), image_.row_stride, image_.pixel_stride, image_.spec};
  }

  // Calls make(packed pixels to write), which makes the next image from the present one.
  template <typename MakeNext>
  void Replace(MakeNext make) {
    std::uint8_t* pixels = spare_.Ensure(image_.spec.bytes());
    make(pixels);
    std::swap(memory_, spare_);
    Adopt(pixels);
  }

 private:
  void Adopt(const std::uint8_t* pixels) {
    image_.data = pixels;
    image_.pixel_stride = static_cast<std::size_t>(image_.spec.channels);
    image_.row_stride = image_.pixel_stride * static_cast<std::size_t>(image_.spec.width);
  }

  Image image_;
  ScratchBuffer& memory_;
  ScratchBuffer& spare_;
};

}  // namespace headrace::ops
