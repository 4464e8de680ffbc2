#include "ops/channels_last/channels_last.h"

#include "ops/core/op_registry.h"
#include "ops/vision/mapped_kernel.h"

namespace headrace::ops {

void RegisterKernelChannelsLast(KernelRegistry& registry) {
  registry.Add<MappedKernel>("channels_last");
}

}  // namespace headrace::ops
