#include "ops/to_tensor/to_tensor.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelToTensor(KernelRegistry& registry) { registry.Add<MappedKernel>("to_tensor"); }

}  // namespace headrace::ops
