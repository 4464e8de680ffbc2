#pragma once

#include <cstdint>

#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// PIL's ImageEnhance.Sharpness(image).enhance(factor) for a u8 HWC image with 1 or 3 channels.
// Writes packed pixels to `out`, which must not overlap the image.
void AdjustSharpness(const Image& in, float factor, std::uint8_t* out,
                     PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
