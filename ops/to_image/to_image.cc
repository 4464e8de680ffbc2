#include "ops/to_image/to_image.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ToImageKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<ToImageKernel>();
}

}  // namespace

void RegisterKernelToImage(KernelRegistry& registry) { registry.Add("to_image", Make); }

}  // namespace headrace::ops
