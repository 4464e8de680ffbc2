#pragma once

#include "base/result.h"
#include "ops/core/op_spec.h"

namespace headrace::ops {

// torchvision's InterpolationMode. Values are PIL's Image.Resampling, which the mode maps to.
enum class Interpolation : std::uint8_t {
  kNearest = 0,
  kLanczos = 1,
  kBilinear = 2,
  kBicubic = 3,
  kBox = 4,
  kHamming = 5,
};

// Argument "interpolation": an InterpolationMode's value such as "bilinear".
[[nodiscard]] ArgSpec InterpolationArg();
// Argument "antialias", which PIL images ignore.
[[nodiscard]] ArgSpec AntialiasArg();
// kUnsupported: a mode that has no native form.
Result<Interpolation> ReadInterpolation(const OpArgs& args);

}  // namespace headrace::ops
