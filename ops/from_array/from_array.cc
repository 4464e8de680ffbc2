#include "ops/from_array/from_array.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class FromArrayKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<FromArrayKernel>();
}

}  // namespace

void RegisterKernelFromArray(KernelRegistry& registry) { registry.Add("from_array", Make); }

}  // namespace headrace::ops
