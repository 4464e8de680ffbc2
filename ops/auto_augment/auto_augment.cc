#include "ops/auto_augment/auto_augment.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<AugmentKernel>(static_cast<const AugmentSchema&>(schema));
}

}  // namespace

void RegisterKernelAutoAugment(KernelRegistry& registry) { registry.Add("auto_augment", Make); }

}  // namespace headrace::ops
