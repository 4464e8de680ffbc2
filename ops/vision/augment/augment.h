#pragma once

#include "ops/vision/augment/augment_space.h"
#include "ops/vision/work.h"

namespace headrace::ops {

// The operation that torchvision has for tensors. REQUIRES: the work is packed, space.affine() is
// of tensors.
void ApplyToTensor(const Augmentation& step, const AugmentSpace& space, Work& work);

// The kernel half of an operator with an AugmentSpace: params are kWords for each operation, which
// are applied in turn.
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
