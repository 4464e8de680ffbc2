#include "ops/from_array/from_array.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelFromArray(KernelRegistry& registry) { registry.Add<MappedKernel>("from_array"); }

}  // namespace headrace::ops
