#include "ops/center_crop/center_crop.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class CenterCropKernel final : public SchemaKernel<ImageKernel, CenterCropSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.CropOf(fold.spec()), {});
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelCenterCrop(KernelRegistry& registry) {
  registry.Add<CenterCropKernel, CenterCropSchema>("center_crop");
}

}  // namespace headrace::ops
