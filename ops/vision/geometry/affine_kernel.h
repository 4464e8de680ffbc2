#pragma once

#include "ops/vision/floats.h"
#include "ops/vision/geometry/affine_schema.h"

namespace headrace::ops {

// The kernel half of an AffineSchema.
class AffineKernel final : public FloatKernel {
 public:
  // The schema must outlive the kernel.
  explicit AffineKernel(const AffineSchema& schema) : pixels_(schema.pixels()) {}
  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override;

 private:
  const AffineSchema::Pixels& pixels_;
};

}  // namespace headrace::ops
