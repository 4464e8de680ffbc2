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

}  // namespace

void RegisterKernelRandomHorizontalFlip(KernelRegistry& registry) {
  registry.Add<RandomHorizontalFlipKernel>("random_horizontal_flip");
}

}  // namespace headrace::ops
