#pragma once

#include "ops/vision/fold/fold.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {

// The kernel of RandomFlipSchema. `kFlip`: FoldedPass::FlipHorizontal or FlipVertical.
template <void (FoldedPass::*kFlip)()>
class RandomFlipKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    if (params[0] != 0) (fold.*kFlip)();
    return Status::Ok();
  }
};

}  // namespace headrace::ops
