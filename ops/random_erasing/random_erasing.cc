#include "ops/random_erasing/random_erasing.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class RandomErasingKernel final : public SchemaKernel<ImageKernel, RandomErasingSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    const Window where{params[0], params[1], params[2], params[3]};
    if (where.height == 0 || where.width == 0) return Status::Ok();
    if (!IsInside(where, fold.spec())) return InvalidArgument("rectangle is not in the image");
    fold.FillRect(where, schema_.value());
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelRandomErasing(KernelRegistry& registry) {
  registry.Add<RandomErasingKernel, RandomErasingSchema>("random_erasing");
}

}  // namespace headrace::ops
