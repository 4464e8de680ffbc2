#include "ops/pad/pad.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/floats.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/geometry/border.h"

namespace headrace::ops {
namespace {

class PadKernel final : public SchemaKernel<FloatKernel, PadSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] bool folds() const override { return schema_.mode() == PaddingMode::kConstant; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    const Padding p = schema_.PaddingOf(fold.spec());
    fold.Reframe({-p.top, -p.left, fold.spec().height + p.top + p.bottom,
                  fold.spec().width + p.left + p.right},
                 schema_.fill());
    return Status::Ok();
  }

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    const Padding padding = schema_.PaddingOf(request.in);
    return std::optional(
        PadAndCropReads(request.in, {&padding, 1}, schema_.mode(), request.wanted, context));
  }
  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const Padding padding = schema_.PaddingOf(in.spec);
    PadAndCrop(in, {&padding, 1}, schema_.mode(), out->held, context, memory, out);
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelPad(KernelRegistry& registry) { registry.Add<PadKernel, PadSchema>("pad"); }

}  // namespace headrace::ops
