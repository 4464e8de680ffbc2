#include "ops/pil_to_tensor/pil_to_tensor.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class PilToTensorKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<PilToTensorKernel>();
}

}  // namespace

void RegisterKernelPilToTensor(KernelRegistry& registry) { registry.Add("pil_to_tensor", Make); }

}  // namespace headrace::ops
