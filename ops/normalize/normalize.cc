#include "ops/normalize/normalize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelNormalize(KernelRegistry& registry) { registry.Add<MappedKernel>("normalize"); }

}  // namespace headrace::ops
