#pragma once

#include <vector>

#include "base/result.h"
#include "ops/core/op_registry.h"
#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// The framework whose arithmetic a resize follows.
enum class ResizeArithmetic : std::uint8_t {
  kPillow,       // of PIL images
  kTorchBytes,   // torch's interpolate of uint8
  kTorchFloats,  // torch's interpolate of float32, then rounded to uint8
  kFloats,       // the same of float32 images, without rounding
};

// How an operator resizes.
struct Resizing {
  ResizeArithmetic arithmetic = ResizeArithmetic::kPillow;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;

  // kUnsupported: torch resizes to that size by other rules (its passes take the image's rows for
  // columns, or fail).
  [[nodiscard]] Status CheckOutput(const ImageSpec& out) const;
  // Puts a size that was drawn into `params`: height and width. Errors as CheckOutput;
  // kInvalidArgument: no pixel is left.
  Status PutDrawn(const ImageSpec& out, MutableParams params) const;
  // Gives the image whose shorter edge has that length, and whose longer one is at most `most`
  // (0: no bound) long. 0 for `shorter`: the longer edge gets the length `most`. Errors as
  // CheckOutput; kInvalidArgument: no pixel is left.
  [[nodiscard]] Status ShorterEdgeTo(std::int64_t shorter, std::int64_t most, const ImageSpec& in,
                                     ImageSpec* out) const;
};

// The arguments "interpolation", "antialias", "api", "tensors" and "floats".
[[nodiscard]] std::vector<ArgSpec> ResizingArgs();

// kUnsupported: no native form for the operator's input, a PIL image or a tensor.
Result<Resizing> ReadResizing(const OpArgs& args, const CompileContext& context);

}  // namespace headrace::ops
