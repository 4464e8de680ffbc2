#include "ops/to_tensor/to_tensor.h"

#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class ToTensorKernel final : public Kernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
  [[nodiscard]] float Map(int /*channel*/, float value) const override { return value / 255.0F; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<ToTensorKernel>();
}

}  // namespace

void RegisterKernelToTensor(KernelRegistry& registry) { registry.Add("to_tensor", Make); }

}  // namespace headrace::ops
