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

// The same of float32 pixels (ops/vision/floats.h), without rounding. `out`: packed pixels of as many
// floats as those of `in`. kUnsupported: elements that are not finite, of which torch makes other
// bits.
Status ConvolveFloats(const Image& in, const ConvolveWeights& weights, const Window& wanted,
                      OpContext& context, float* out,
                      PointwiseLevel level = DetectPointwiseLevel());

// torch's conv2d of each channel with a kernel of 3 x 3, without a border: of `rows` rows of
// `in_stride` floats, whose pixels have `step` floats. Makes rows - 2 rows of in_stride - 2 * step
// floats. Uses scratch 0. REQUIRES: rows and pixels are 3 or more; 64 bytes after the last row can be
// read.
void ConvolveThree(const float* in, std::size_t rows, std::size_t in_stride, std::size_t step,
                   std::span<const float, 9> weights, OpContext& context, float* out,
                   PointwiseLevel level = DetectPointwiseLevel());

// The window that Convolve reads of an image of spec `in`, for weights of that many columns and
// rows.
[[nodiscard]] Window ConvolveReads(const ImageSpec& in, std::int64_t columns, std::int64_t rows,
                                   const Window& wanted);

}  // namespace headrace::ops
