#include "ops/rand_augment/rand_augment.h"

#include "ops/core/op_registry.h"
#include "ops/vision/augment/augment.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<AugmentKernel>(static_cast<const AugmentSchema&>(schema));
}

}  // namespace

void RegisterKernelRandAugment(KernelRegistry& registry) { registry.Add("rand_augment", Make); }

}  // namespace headrace::ops
