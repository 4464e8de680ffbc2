#pragma once

#include <cstdint>

#include "ops/vision/geometry/affine.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/perspective.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// torchvision's affine and rotate of u8 tensors, v1 (api 1) or v2: torch's grid_sample by a matrix
// that counts from the image's center. Reads a packed u8 HWC image with 1 or 3 channels. Writes
// packed pixels to `out`, which must not overlap the image. Without a fill, pixels outside count as
// 0. A fill covers them, in proportion to the part of a pixel that lies outside. The bits are those
// of torch's AVX2 and AVX512 builds with these products of matrices. REQUIRES: the args are a
// tensor's: interpolation is nearest or bilinear, products are known.
void TensorAffine(const Image& in, const AffineMatrix& matrix, const AffineArgs& args, int api,
                  std::uint8_t* out, PointwiseLevel level = DetectPointwiseLevel());

// torchvision's perspective in the same way. Its grid counts from the upper left corner. REQUIRES:
// nothing in the image is divided by 0.
void TensorPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                       const AffineArgs& args, int api, std::uint8_t* out,
                       PointwiseLevel level = DetectPointwiseLevel());

// torchvision's elastic transform in the same way, by a grid whose places are given.
struct GridField;  // ops/vision/tensor/grid_kernels.h
void TensorElastic(const Image& in, const GridField& field, const AffineArgs& args, int api,
                   std::uint8_t* out, PointwiseLevel level = DetectPointwiseLevel());

// torch.rot90(image, turns, dims=(-2, -1)) of packed pixels of any kind. Writes packed pixels to
// `out`, which must not overlap the image. REQUIRES: 0 <= turns <= 3; the image is square, or the
// turns are even.
void TensorTurn(const Image& in, int turns, std::uint8_t* out);

}  // namespace headrace::ops
