#include "ops/resize/resize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/resample/resize_kernel.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(static_cast<const ResizeSchema&>(schema).resizing(),
                                  context.libraries->pillow);
}

}  // namespace

void RegisterKernelResize(KernelRegistry& registry) { registry.Add("resize", Make); }

}  // namespace headrace::ops
