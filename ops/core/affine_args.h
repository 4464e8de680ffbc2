#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/core/interpolation.h"
#include "ops/core/op.h"

namespace headrace::ops {

// How an affine transform makes pixels: as PIL does, or as torchvision does of tensors.
struct AffineArgs {
  bool tensor = false;
  Interpolation interpolation = Interpolation::kNearest;
  // What lies outside of the image: of PIL images a byte; of tensors, without a value it is 0 and
  // edges fade.
  std::array<std::uint8_t, 3> fill{};
  std::optional<std::array<float, 3>> tensor_fill;
};

// Arguments "interpolation" and "fill".
[[nodiscard]] std::vector<ArgSpec> AffineArgSpecs();
// kUnsupported: an interpolation that PIL, or torchvision for tensors, does not have; a fill that
// is not a value of the image.
Result<AffineArgs> ReadAffineArgs(const OpArgs& args, const ImageSpec& input, bool tensor);

}  // namespace headrace::ops
