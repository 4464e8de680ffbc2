#include "ops/to_image/to_image.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelToImage(KernelRegistry& registry) { registry.Add<MappedKernel>("to_image"); }

}  // namespace headrace::ops
