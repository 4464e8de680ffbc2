#include "ops/random_affine/random_affine.h"

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_kernel.h"

namespace headrace::ops {

void RegisterKernelRandomAffine(KernelRegistry& registry) {
  registry.Add<AffineKernel, AffineSchema>("random_affine");
}

}  // namespace headrace::ops
