#include "ops/random_crop/random_crop.h"

#include "ops/core/border.h"
#include "ops/core/fold.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class RandomCropKernel final : public Kernel {
 public:
  explicit RandomCropKernel(const RandomCropSchema& schema) : schema_(schema) {}

  [[nodiscard]] bool folds() const override {
    return schema_.config().mode == PaddingMode::kConstant;
  }

  Status Fold(Params params, FoldedPass& fold) const override {
    const Padding pad = schema_.PadsFor(fold.spec()).total;
    HR_RETURN_IF_ERROR(Check(params, fold.spec(), pad));
    const Size& size = schema_.config().size;
    fold.Reframe({params[0] - pad.top, params[1] - pad.left, size.height, size.width},
                 schema_.config().fill);
    return Status::Ok();
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const RandomCropSchema::Pads pads = schema_.PadsFor(in.spec);
    HR_RETURN_IF_ERROR(Check(params, in.spec, pads.total));
    PadAndCrop(in, std::span(pads.steps).first(static_cast<std::size_t>(pads.count)),
               schema_.config().mode, params[0], params[1], context, memory, out);
    return Status::Ok();
  }

 private:
  Status Check(Params params, const ImageSpec& in, const Padding& pad) const {
    ImageSpec padded = in;
    padded.height += pad.top + pad.bottom;
    padded.width += pad.left + pad.right;
    const Size& size = schema_.config().size;
    if (IsInside({params[0], params[1], size.height, size.width}, padded)) return Status::Ok();
    return InvalidArgument("crop is not in the image");
  }

  const RandomCropSchema& schema_;  // of the chain, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<RandomCropKernel>(static_cast<const RandomCropSchema&>(schema));
}

}  // namespace

void RegisterKernelRandomCrop(KernelRegistry& registry) { registry.Add("random_crop", Make); }

}  // namespace headrace::ops
