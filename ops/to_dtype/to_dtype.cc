#include "ops/to_dtype/to_dtype.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelToDtype(KernelRegistry& registry) { registry.Add<MappedKernel>("to_dtype"); }

}  // namespace headrace::ops
