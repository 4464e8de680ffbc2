#pragma once

#include "base/result.h"
#include "ops/core/op_spec.h"

namespace headrace::ops {

// torchvision's InterpolationMode. Values are PIL's Image.Resampling, to which the mode maps.
// kNearestExact is for tensors only, since PIL has none.
enum class Interpolation : std::uint8_t {
  kNearest = 0,
  kLanczos = 1,
  kBilinear = 2,
  kBicubic = 3,
  kBox = 4,
  kHamming = 5,
  kNearestExact = 6,
};

// Argument "interpolation": an InterpolationMode's value such as "bilinear".
[[nodiscard]] ArgSpec InterpolationArg();
// Reads the mode as PIL takes it: nearest-exact is kNearest. kInvalidArgument: no such mode.
Result<Interpolation> ReadInterpolation(const OpArgs& args);

}  // namespace headrace::ops
