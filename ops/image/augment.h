#pragma once

#include "ops/core/augment.h"

namespace headrace::ops {

// The kernel half of an operator with an AugmentSpace: params are kWords for each operation, which
// are applied in turn, as PIL does.
class AugmentKernel final : public Kernel {
 public:
  // The schema outlives the kernel.
  explicit AugmentKernel(const AugmentSchema& schema) : space_(schema.space()) {}
  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override;

 private:
  const AugmentSpace& space_;
};

}  // namespace headrace::ops
