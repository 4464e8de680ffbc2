#pragma once

#include <array>
#include <cstdint>

#include "ops/core/interpolation.h"
#include "ops/core/op.h"

namespace headrace::ops {

// The pixel (x, y) of the result comes from (a x + b y + c, d x + e y + f) of the source.
using AffineMatrix = std::array<double, 6>;

// Pillow's Image.transform(image.size, AFFINE, matrix, interpolation, fillcolor=fill) of a u8 HWC
// image with 1 or 3 channels, into packed pixels at `out`, apart from the image.
// REQUIRES: interpolation is nearest, bilinear or bicubic.
void TransformAffine(const Image& in, const AffineMatrix& matrix, Interpolation interpolation,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* out);

}  // namespace headrace::ops
