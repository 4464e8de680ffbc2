#include "ops/crop/crop.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class CropKernel final : public SchemaKernel<ImageKernel, CropSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    fold.Reframe(schema_.window(), {});
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelCrop(KernelRegistry& registry) { registry.Add<CropKernel, CropSchema>("crop"); }

}  // namespace headrace::ops
