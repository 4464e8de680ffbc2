#include "ops/center_crop/center_crop.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class CenterCropKernel final : public ImageKernel {
 public:
  explicit CenterCropKernel(const CenterCropSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.CropOf(fold.spec()), {});
    return Status::Ok();
  }

 private:
  const CenterCropSchema& schema_;  // the chain's, which outlives its kernels
};

}  // namespace

void RegisterKernelCenterCrop(KernelRegistry& registry) {
  registry.Add<CenterCropKernel, CenterCropSchema>("center_crop");
}

}  // namespace headrace::ops
