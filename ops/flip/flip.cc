#include "ops/flip/flip.h"

#include "ops/core/op_registry.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class FlipKernel final : public ImageKernel {
 public:
  explicit FlipKernel(bool horizontal) : horizontal_(horizontal) {}
  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    if (horizontal_) {
      fold.FlipHorizontal();
    } else {
      fold.FlipVertical();
    }
    return Status::Ok();
  }

 private:
  bool horizontal_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<FlipKernel>(static_cast<const FlipSchema&>(schema).horizontal());
}

}  // namespace

void RegisterKernelFlip(KernelRegistry& registry) { registry.Add("flip", Make); }

}  // namespace headrace::ops
