#include "ops/to_dtype/to_dtype.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ToDtypeKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<ToDtypeKernel>();
}

}  // namespace

void RegisterKernelToDtype(KernelRegistry& registry) { registry.Add("to_dtype", Make); }

}  // namespace headrace::ops
