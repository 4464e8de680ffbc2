#include "ops/random_shortest_size/random_shortest_size.h"

#include "ops/core/op_registry.h"
#include "ops/vision/resample/resize_kernel.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(static_cast<const RandomShortestSizeSchema&>(schema).resizing(),
                                  context.libraries->pillow);
}

}  // namespace

void RegisterKernelRandomShortestSize(KernelRegistry& registry) {
  registry.Add("random_shortest_size", Make);
}

}  // namespace headrace::ops
