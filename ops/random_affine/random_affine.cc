#include "ops/random_affine/random_affine.h"

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_kernel.h"

namespace headrace::ops {
namespace {

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<AffineKernel>(static_cast<const AffineSchema&>(schema));
}

}  // namespace

void RegisterKernelRandomAffine(KernelRegistry& registry) { registry.Add("random_affine", Make); }

}  // namespace headrace::ops
