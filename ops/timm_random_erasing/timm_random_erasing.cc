#include "ops/timm_random_erasing/timm_random_erasing.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class TimmRandomErasingKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    for (; params.size() >= 4; params = params.subspan(4)) {
      const Window where{params[0], params[1], params[2], params[3]};
      if (where.height == 0 || where.width == 0) continue;
      if (!IsInside(where, fold.spec())) return InvalidArgument("rectangle is not in the image");
      fold.FillRect(where, {});
    }
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelTimmRandomErasing(KernelRegistry& registry) {
  registry.Add<TimmRandomErasingKernel>("timm_random_erasing");
}

}  // namespace headrace::ops
