#include "ops/rand_augment/rand_augment.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {

void RegisterKernelRandAugment(KernelRegistry& registry) {
  registry.Add<AugmentKernel, AugmentSchema>("rand_augment");
}

}  // namespace headrace::ops
