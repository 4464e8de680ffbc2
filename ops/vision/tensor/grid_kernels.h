#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ops/vision/geometry/affine.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/perspective.h"
#include "ops/vision/image.h"

// Each operation is rounded to float32 as torch's is. Source: torchvision's _gen_affine_grid,
// ATen's GridSamplerKernel.cpp.
namespace headrace::ops {

// theta's column of one coordinate, divided by half the side of its axis.
struct GridAxis {
  float by_x, by_y, shift;
  float half;   // scales from -1..1 to pixels
  float count;  // pixels
};

// A grid whose places are given one by one, row by row, in torch's numbers from -1 to 1.
// kSlack more floats of each can be read.
struct GridField {
  static constexpr std::size_t kSlack = 8;
  const float* x;
  const float* y;
};

// A packed image, and the grid that says where pixels are taken from.
struct GridJob {
  const Image& in;
  GridAxis across, down;
  bool bilinear;
  const std::optional<std::array<float, 3>>& fill;
  int api;
  MatrixProducts products;
  // What the sums of both axes are divided by: of a perspective, which counts from the upper left
  // corner. An affine grid counts from the center.
  std::optional<GridAxis> divisor = std::nullopt;
  // Places that are given. The axes then have no more than their sides.
  std::optional<GridField> field = std::nullopt;

  // Says whether the product that makes the grid uses fused operations. torch makes small products
  // (inner side 3, 2 columns) itself, and never fused. The library makes the others.
  [[nodiscard]] bool fused() const {
    const bool large = in.spec.height * in.spec.width * 6 >= 400;
    return large && products == MatrixProducts::kFusedWhereLarge;
  }
};

// The axis of a side, by its three numbers in the matrix.
template <typename Number>
[[nodiscard]] GridAxis MakeGridAxis(const Number* row, std::int64_t side) {
  const auto half = static_cast<float>(0.5 * static_cast<double>(side));
  return {static_cast<float>(row[0]) / half, static_cast<float>(row[1]) / half,
          static_cast<float>(row[2]) / half, half, static_cast<float>(side)};
}

// The jobs of an affine transform, of a perspective and of a field. They refer to the image and the
// arguments.
[[nodiscard]] inline GridJob AffineJob(const Image& in, const AffineMatrix& matrix,
                                       const AffineArgs& args, int api) {
  return {in,
          MakeGridAxis(matrix.data(), in.spec.width),
          MakeGridAxis(matrix.data() + 3, in.spec.height),
          args.interpolation == Interpolation::kBilinear,
          args.tensor_fill,
          api,
          args.products};
}

[[nodiscard]] inline GridJob PerspectiveJob(const Image& in,
                                            const PerspectiveCoefficients& coefficients,
                                            const AffineArgs& args, int api) {
  return {in,
          MakeGridAxis(coefficients.data(), in.spec.width),
          MakeGridAxis(coefficients.data() + 3, in.spec.height),
          args.interpolation == Interpolation::kBilinear,
          args.tensor_fill,
          api,
          args.products,
          GridAxis{coefficients[6], coefficients[7], 1.0F, 0, 0}};
}

[[nodiscard]] inline GridJob FieldJob(const Image& in, const GridField& field,
                                      const AffineArgs& args, int api) {
  constexpr float kNone[3] = {0, 0, 0};
  return {in,
          MakeGridAxis(kNone, in.spec.width),
          MakeGridAxis(kNone, in.spec.height),
          args.interpolation == Interpolation::kBilinear,
          args.tensor_fill,
          api,
          args.products,
          std::nullopt,
          field};
}

#if defined(__x86_64__)
// REQUIRES: the image has less than 2^31 bytes.
void SampleGridAvx2(const GridJob& job, std::uint8_t* out);  // with FMA
#endif

}  // namespace headrace::ops
