#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// How the client's torch multiplies the matrices that grids of coordinates are made of. Torch's
// library chooses by the CPU. Values go over the wire.
enum class MatrixProducts : std::uint8_t {
  kUnknown = 0,          // tensors are not native
  kFusedWhereLarge = 1,  // large ones are added up by fused operations; MKL on CPUs of Intel
  kNeverFused = 2,       // every operation is rounded; MKL on CPUs of AMD
};

// Says how an affine transform makes pixels: as PIL does, or as torchvision does for tensors.
struct AffineArgs {
  bool tensor = false;
  Interpolation interpolation = Interpolation::kNearest;
  // Fill outside the image. For PIL images it is a byte. For tensors without a value it is 0, and
  // edges fade.
  std::array<std::uint8_t, 3> fill{};
  std::optional<std::array<float, 3>> tensor_fill;
  MatrixProducts products = MatrixProducts::kUnknown;  // known for tensors
};

// The arguments "tensor_grids", "interpolation" and "fill". `unsaid`: the products of a node
// without the first argument.
[[nodiscard]] std::vector<ArgSpec> AffineArgSpecs(MatrixProducts unsaid);
// kUnsupported: a tensor with unknown products; an interpolation that PIL, or torchvision for
// tensors, does not have; a fill that is not a value of the image. kInvalidArgument: products of a
// later release.
Result<AffineArgs> ReadAffineArgs(const OpArgs& args, const ImageSpec& input, bool tensor);
// The same of images that are sampled as tensors, by a grid without a product of matrices:
// "interpolation" and "fill".
[[nodiscard]] std::vector<ArgSpec> TensorArgSpecs();
Result<AffineArgs> ReadTensorArgs(const OpArgs& args, const ImageSpec& input);
// The same of PIL images alone: "interpolation" and "fill".
[[nodiscard]] std::vector<ArgSpec> PilArgSpecs();
Result<AffineArgs> ReadPilArgs(const OpArgs& args, const ImageSpec& input);

}  // namespace headrace::ops
