#pragma once

#include <array>
#include <cstdint>

#include "ops/vision/geometry/affine_matrix.h"
#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// Pillow's Image.transform(image.size, AFFINE, matrix, interpolation, fillcolor=fill) for a u8 HWC
// image with 1 or 3 channels. Writes packed pixels to `out`, which must not overlap the image.
// REQUIRES: interpolation is nearest, bilinear or bicubic.
void TransformAffine(const Image& in, const AffineMatrix& matrix, Interpolation interpolation,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* out,
                     PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
