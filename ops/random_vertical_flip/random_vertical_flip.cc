#include "ops/core/op_registry.h"
#include "ops/vision/fold/random_flip_kernel.h"

namespace headrace::ops {

void RegisterKernelRandomVerticalFlip(KernelRegistry& registry) {
  registry.Add<RandomFlipKernel<&FoldedPass::FlipVertical>>("random_vertical_flip");
}

}  // namespace headrace::ops
