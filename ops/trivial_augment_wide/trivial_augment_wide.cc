#include "ops/trivial_augment_wide/trivial_augment_wide.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {

void RegisterKernelTrivialAugmentWide(KernelRegistry& registry) {
  registry.Add<AugmentKernel, AugmentSchema>("trivial_augment_wide");
}

}  // namespace headrace::ops
