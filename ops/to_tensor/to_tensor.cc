#include "ops/to_tensor/to_tensor.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ToTensorKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<ToTensorKernel>();
}

}  // namespace

void RegisterKernelToTensor(KernelRegistry& registry) { registry.Add("to_tensor", Make); }

}  // namespace headrace::ops
