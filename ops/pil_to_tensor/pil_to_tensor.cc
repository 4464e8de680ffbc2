#include "ops/pil_to_tensor/pil_to_tensor.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelPilToTensor(KernelRegistry& registry) {
  registry.Add<MappedKernel>("pil_to_tensor");
}

}  // namespace headrace::ops
