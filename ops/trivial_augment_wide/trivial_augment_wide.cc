#include "ops/trivial_augment_wide/trivial_augment_wide.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<AugmentKernel>(static_cast<const AugmentSchema&>(schema));
}

}  // namespace

void RegisterKernelTrivialAugmentWide(KernelRegistry& registry) {
  registry.Add("trivial_augment_wide", Make);
}

}  // namespace headrace::ops
