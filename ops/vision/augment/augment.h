#pragma once

#include "ops/vision/augment/augment_space.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/work.h"

namespace headrace::ops {

// Applies torchvision's operation for tensors. REQUIRES: the work is packed, and space.affine() is
// for tensors.
// kUnsupported: bits that depend on how the tensor lies in memory.
Status ApplyToTensor(const Augmentation& step, const AugmentSpace& space, Work& work);

// The kernel half of an operator with an AugmentSpace: params are kWords for each operation. The
// operations are applied in turn.
class AugmentKernel final : public ImageKernel {
 public:
  // The schema must outlive the kernel.
  explicit AugmentKernel(const AugmentSchema& schema) : space_(schema.space()) {}
  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override;

 private:
  const AugmentSpace& space_;
};

}  // namespace headrace::ops
