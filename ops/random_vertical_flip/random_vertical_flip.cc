#include "ops/random_vertical_flip/random_vertical_flip.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class RandomVerticalFlipKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    if (params[0] != 0) fold.FlipVertical();
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelRandomVerticalFlip(KernelRegistry& registry) {
  registry.Add<RandomVerticalFlipKernel>("random_vertical_flip");
}

}  // namespace headrace::ops
