#pragma once

#include "ops/vision/canvas.h"

// PIL's ImageOps that map values, in place on u8 HWC pixels of 1 or 3 channels.
namespace headrace::ops {

void Invert(const Canvas& image);
// Keeps the upper `bits` of each value. REQUIRES: 0 <= bits <= 8.
void Posterize(const Canvas& image, int bits);
// Inverts the values that are not below `threshold`.
void Solarize(const Canvas& image, double threshold);
// timm's solarize_add: adds to the values below 128, up to 255. REQUIRES: 0 <= add.
void SolarizeAdd(const Canvas& image, int add);
// ImageOps.autocontrast(image): stretches each channel to 0..255.
void AutoContrast(const Canvas& image);
// ImageOps.equalize(image)
void Equalize(const Canvas& image);

}  // namespace headrace::ops
