#include "ops/core/op_registry.h"
#include "ops/vision/fold/random_flip_kernel.h"

namespace headrace::ops {

void RegisterKernelRandomHorizontalFlip(KernelRegistry& registry) {
  registry.Add<RandomFlipKernel<&FoldedPass::FlipHorizontal>>("random_horizontal_flip");
}

}  // namespace headrace::ops
