#include "ops/random_horizontal_flip/random_horizontal_flip.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class RandomHorizontalFlipKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    if (params[0] != 0) fold.FlipHorizontal();
    return Status::Ok();
  }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<RandomHorizontalFlipKernel>();
}

}  // namespace

void RegisterKernelRandomHorizontalFlip(KernelRegistry& registry) {
  registry.Add("random_horizontal_flip", Make);
}

}  // namespace headrace::ops
