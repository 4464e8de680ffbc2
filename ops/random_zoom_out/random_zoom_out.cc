#include "ops/random_zoom_out/random_zoom_out.h"

#include <cstdint>
#include <tuple>

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {
namespace {

class RandomZoomOutKernel final : public SchemaKernel<ImageKernel, RandomZoomOutSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return true; }
  Status Fold(Params params, FoldedPass& fold) const override {
    const auto [left, top, right, bottom] = std::tuple(params[0], params[1], params[2], params[3]);
    if (left == 0 && top == 0 && right == 0 && bottom == 0) return Status::Ok();
    fold.Reframe({-std::int64_t{top}, -std::int64_t{left}, fold.spec().height + top + bottom,
                  fold.spec().width + left + right},
                 schema_.fill());
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelRandomZoomOut(KernelRegistry& registry) {
  registry.Add<RandomZoomOutKernel, RandomZoomOutSchema>("random_zoom_out");
}

}  // namespace headrace::ops
