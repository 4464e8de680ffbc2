#include "ops/random_resize/random_resize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/resample/resize_kernel.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(static_cast<const RandomResizeSchema&>(schema).resizing(),
                                  context.libraries->pillow);
}

}  // namespace

void RegisterKernelRandomResize(KernelRegistry& registry) { registry.Add("random_resize", Make); }

}  // namespace headrace::ops
