#include "ops/five_crop/five_crop.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class FiveCropKernel final : public ImageKernel {
 public:
  explicit FiveCropKernel(const FiveCropSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.CropOf(fold.spec()), {});
    return Status::Ok();
  }

 private:
  const FiveCropSchema& schema_;  // the chain's, which outlives its kernels
};

}  // namespace

void RegisterKernelFiveCrop(KernelRegistry& registry) {
  registry.Add<FiveCropKernel, FiveCropSchema>("five_crop");
}

}  // namespace headrace::ops
