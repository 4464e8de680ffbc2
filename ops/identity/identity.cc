#include "ops/identity/identity.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelIdentity(KernelRegistry& registry) { registry.Add<MappedKernel>("identity"); }

}  // namespace headrace::ops
