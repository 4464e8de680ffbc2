#pragma once

#include <cstdint>
#include <span>

#include "ops/core/op.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// The weights of a window: that of row i and column j is y[i] * x[j]. Both have an odd size.
struct ConvolveWeights {
  std::span<const float> x, y;
};

// torchvision's gaussian_blur with these weights, for u8 HWC pixels of any stride: reflected
// borders, torch's conv2d of each channel in float32, rounding half to even. oneDNN sums row by row
// and column by column in each row, and each step is one fused multiply-add. Writes the pixels of
// `wanted`, packed, to `out`. Uses scratch 0 and 1.
// REQUIRES: each half of the weights, rounded down, is smaller than the image's side; the weights
// are finite, not negative, and their products have a sum below 1.001; `in` holds ConvolveReads.
void Convolve(const Image& in, const ConvolveWeights& weights, const Window& wanted,
              OpContext& context, std::uint8_t* out, PointwiseLevel level = DetectPointwiseLevel());

// The window that Convolve reads of an image of spec `in`, for weights of that many columns and
// rows.
[[nodiscard]] Window ConvolveReads(const ImageSpec& in, std::int64_t columns, std::int64_t rows,
                                   const Window& wanted);

}  // namespace headrace::ops
