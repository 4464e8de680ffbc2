#pragma once

#include <cstdint>

#include "ops/core/op.h"

namespace headrace::ops {

// PIL's ImageEnhance.Sharpness(image).enhance(factor) of a u8 HWC image with 1 or 3 channels, into
// packed pixels at `out`, apart from the image.
void AdjustSharpness(const Image& in, float factor, std::uint8_t* out);

}  // namespace headrace::ops
