#include "ops/identity/identity.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class IdentityKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<IdentityKernel>();
}

}  // namespace

void RegisterKernelIdentity(KernelRegistry& registry) { registry.Add("identity", Make); }

}  // namespace headrace::ops
