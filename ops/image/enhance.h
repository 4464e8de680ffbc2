#pragma once

#include "ops/image/canvas.h"

// PIL's ImageEnhance and torchvision's adjust_hue, in place on u8 HWC pixels of 1 or 3 channels.
namespace headrace::ops {

// ImageEnhance.Brightness(image).enhance(factor)
void AdjustBrightness(const Canvas& image, float factor);
// ImageEnhance.Contrast(image).enhance(factor)
void AdjustContrast(const Canvas& image, float factor);
// ImageEnhance.Color(image).enhance(factor)
void AdjustSaturation(const Canvas& image, float factor);
// torchvision's adjust_hue(image, factor). REQUIRES: -0.5 <= factor <= 0.5.
void AdjustHue(const Canvas& image, float factor);

}  // namespace headrace::ops
