#pragma once

#include <array>
#include <cstdint>

#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// The pixel (x, y) of the result comes from ((a x + b y + c) / (g x + h y + 1),
// (d x + e y + f) / (g x + h y + 1)) of the source. torchvision keeps them as float32.
using PerspectiveCoefficients = std::array<float, 8>;  // a to h

// The window `part` of Pillow's Image.transform(image.size, PERSPECTIVE, coefficients,
// interpolation, fillcolor=fill) for a whole u8 HWC image with 1 or 3 channels. Writes packed
// pixels to `out`, which must not overlap the image. REQUIRES: interpolation is nearest, bilinear
// or bicubic; `part` is inside of the image.
void TransformPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                          Interpolation interpolation, const std::array<std::uint8_t, 3>& fill,
                          const Window& part, std::uint8_t* out);

}  // namespace headrace::ops
