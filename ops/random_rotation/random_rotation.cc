#include "ops/random_rotation/random_rotation.h"

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_kernel.h"

namespace headrace::ops {

void RegisterKernelRandomRotation(KernelRegistry& registry) {
  registry.Add<AffineKernel, AffineSchema>("random_rotation");
}

}  // namespace headrace::ops
