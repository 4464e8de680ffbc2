#include "ops/pad/pad.h"

#include "ops/core/border.h"
#include "ops/core/fold.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class PadKernel final : public Kernel {
 public:
  explicit PadKernel(const PadSchema& schema) : schema_(schema) {}

  [[nodiscard]] bool folds() const override { return schema_.mode() == PaddingMode::kConstant; }
  Status Fold(Params /*params*/, FoldedPass& fold) const override {
    const Padding& p = schema_.padding();
    fold.Reframe({-p.top, -p.left, fold.spec().height + p.top + p.bottom,
                  fold.spec().width + p.left + p.right},
                 schema_.fill());
    return Status::Ok();
  }

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    PadAndCrop(in, std::span(&schema_.padding(), 1), schema_.mode(), /*top=*/0, /*left=*/0, context,
               memory, out);
    return Status::Ok();
  }

 private:
  const PadSchema& schema_;  // of the chain, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<PadKernel>(static_cast<const PadSchema&>(schema));
}

}  // namespace

void RegisterKernelPad(KernelRegistry& registry) { registry.Add("pad", Make); }

}  // namespace headrace::ops
