#include "ops/normalize/normalize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class NormalizeKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<NormalizeKernel>();
}

}  // namespace

void RegisterKernelNormalize(KernelRegistry& registry) { registry.Add("normalize", Make); }

}  // namespace headrace::ops
