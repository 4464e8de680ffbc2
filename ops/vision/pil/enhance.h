#pragma once

#include "ops/vision/canvas.h"
#include "ops/vision/tensor/pointwise.h"

// PIL's ImageEnhance and torchvision's adjust_hue, in place on u8 HWC pixels of 1 or 3 channels.
namespace headrace::ops {

// ImageEnhance.Brightness(image).enhance(factor)
void AdjustBrightness(const Canvas& image, float factor,
                      PointwiseLevel level = DetectPointwiseLevel());
// ImageEnhance.Contrast(image).enhance(factor)
void AdjustContrast(const Canvas& image, float factor,
                    PointwiseLevel level = DetectPointwiseLevel());
// ImageEnhance.Color(image).enhance(factor)
void AdjustSaturation(const Canvas& image, float factor,
                      PointwiseLevel level = DetectPointwiseLevel());
// torchvision's adjust_hue(image, factor). REQUIRES: -0.5 <= factor <= 0.5.
void AdjustHue(const Canvas& image, float factor, PointwiseLevel level = DetectPointwiseLevel());
// Adds to the hue, modulo 256, as adjust_hue does to PIL's HSV.
void TurnHue(const Canvas& image, std::uint8_t shift,
             PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
