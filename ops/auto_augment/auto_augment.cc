#include "ops/auto_augment/auto_augment.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {

void RegisterKernelAutoAugment(KernelRegistry& registry) {
  registry.Add<AugmentKernel, AugmentSchema>("auto_augment");
}

}  // namespace headrace::ops
