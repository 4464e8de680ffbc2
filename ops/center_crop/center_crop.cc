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

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<CenterCropKernel>(static_cast<const CenterCropSchema&>(schema));
}

}  // namespace

void RegisterKernelCenterCrop(KernelRegistry& registry) { registry.Add("center_crop", Make); }

}  // namespace headrace::ops
