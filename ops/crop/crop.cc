#include "ops/crop/crop.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class CropKernel final : public ImageKernel {
 public:
  explicit CropKernel(const CropSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.window(), {});
    return Status::Ok();
  }

 private:
  const CropSchema& schema_;  // the chain's, which outlives its kernels
};

}  // namespace

void RegisterKernelCrop(KernelRegistry& registry) { registry.Add<CropKernel, CropSchema>("crop"); }

}  // namespace headrace::ops
