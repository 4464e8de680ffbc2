#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace headrace::ops {

// Functions of the torch that this process has loaded, on contiguous float32 of the CPU. Their bits
// depend on the torch build and on the CPU. So draws that go through them are made where torch is:
// in the trainer, and in the stage hosts. Thread-safe.
class TorchFunctions {
 public:
  virtual ~TorchFunctions() = default;
  // torch.exp(in). REQUIRES: in.size() == out.size(), as for Softmax.
  virtual Status Exp(std::span<const float> in, std::span<float> out) const = 0;
  // torch.sum(in)
  virtual Status Sum(std::span<const float> in, float* out) const = 0;
  // torch.softmax(in, 0)
  virtual Status Softmax(std::span<const float> in, std::span<float> out) const = 0;

  // torch.linalg.lstsq(rows, values, driver="gels").solution, of a matrix with values.size() rows,
  // by the LAPACK that torch brings. Torch's own function takes a text, and its C interface loses
  // 90 bytes with each (2.13). kUnsupported: no LAPACK, or no solution. The bits don't depend on
  // the number of threads for a matrix of 8 rows (tests/python/ops).
  virtual Status LeastSquares(std::span<const double> /*rows*/, std::span<const double> /*values*/,
                              std::span<double> /*solution*/) const {
    return Unsupported("this torch solves no equations");
  }

  // Null where no torch is loaded, or one without the C interface (`aoti_torch_call_dispatcher`).
  static const TorchFunctions* Loaded();
};

// torchvision's _get_gaussian_kernel1d. `positions`: its torch.linspace. `api`: 1 for
// torchvision.transforms, 2 for torchvision.transforms.v2. Errors of the functions.
// REQUIRES: weights.size() == positions.size(), sigma > 0.
Status GaussianWeights(const TorchFunctions& torch, std::span<const float> positions, float sigma,
                       int api, std::span<float> weights);

// x and y of the corners of an image: upper left, upper right, lower right, lower left.
using Corners = std::array<std::array<std::int64_t, 2>, 4>;

// torchvision's _get_perspective_coeffs(start, end): the coefficients of the transform that shows
// `start` at `end`. kUnsupported: as LeastSquares, or three corners lie on a line.
Status SolvePerspective(const TorchFunctions& torch, const Corners& start, const Corners& end,
                        std::span<float, 8> coefficients);

}  // namespace headrace::ops
