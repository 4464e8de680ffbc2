#include "ops/five_crop/five_crop.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class FiveCropKernel final : public SchemaKernel<ImageKernel, FiveCropSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.CropOf(fold.spec()), {});
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelFiveCrop(KernelRegistry& registry) {
  registry.Add<FiveCropKernel, FiveCropSchema>("five_crop");
}

}  // namespace headrace::ops
