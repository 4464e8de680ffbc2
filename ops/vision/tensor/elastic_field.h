#pragma once

#include "ops/core/op.h"
#include "ops/torch/mt19937.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/convolve.h"
#include "ops/vision/tensor/grid_kernels.h"

namespace headrace::ops {

// One direction of the displacements of an elastic transform.
struct ElasticAxis {
  double alpha = 0;         // what they are multiplied by
  ConvolveWeights weights;  // of the blur; empty: they are not blurred
};

// The grid of torchvision's elastic transform of an image of this size, as float32: torch.linspace
// from the first pixel's center to the last one's, plus a displacement of each pixel. For that,
// ElasticTransform draws torch.rand(1, 1, height, width) for each direction, scales it to -1..1,
// blurs it, and multiplies it by alpha over the side. `random` is torch's generator before these
// draws. The bits are those of torch's AVX2 and AVX512 builds. Uses scratch 0 to 4; the field lies
// in 3 and 4. Source: torchvision.transforms.ElasticTransform, ATen's RangeFactoriesKernel.cpp.
// REQUIRES: CheckBlur and AreBlurWeights said yes to the weights.
Result<GridField> MakeElasticField(const ImageSpec& image, Mt19937 random,
                                   const ElasticAxis& across, const ElasticAxis& down,
                                   OpContext& context,
                                   PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
