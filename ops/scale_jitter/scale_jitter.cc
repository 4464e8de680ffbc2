#include "ops/scale_jitter/scale_jitter.h"

#include "ops/core/op_registry.h"
#include "ops/vision/resample/resize_kernel.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(static_cast<const ScaleJitterSchema&>(schema).resizing(),
                                  context.libraries->pillow);
}

}  // namespace

void RegisterKernelScaleJitter(KernelRegistry& registry) { registry.Add("scale_jitter", Make); }

}  // namespace headrace::ops
