#pragma once

#include <cstdint>

#include "ops/core/op.h"

// PIL's ImageEnhance and torchvision's adjust_hue, in place on u8 HWC pixels of 1 or 3 channels.
namespace headrace::ops {

// Pixels that may be written; strides as in Image.
struct Canvas {
  std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
};

// ImageEnhance.Brightness(image).enhance(factor)
void AdjustBrightness(const Canvas& image, float factor);
// ImageEnhance.Contrast(image).enhance(factor)
void AdjustContrast(const Canvas& image, float factor);
// ImageEnhance.Color(image).enhance(factor)
void AdjustSaturation(const Canvas& image, float factor);
// torchvision's adjust_hue(image, factor). REQUIRES: -0.5 <= factor <= 0.5.
void AdjustHue(const Canvas& image, float factor);

}  // namespace headrace::ops
