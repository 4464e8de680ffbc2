#include "ops/random_crop/random_crop.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/floats.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/geometry/border.h"

namespace headrace::ops {
namespace {

class RandomCropKernel final : public SchemaKernel<FloatKernel, RandomCropSchema> {
 public:
  using SchemaKernel::SchemaKernel;

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

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    const RandomCropSchema::Pads pads = schema_.PadsFor(request.in);
    HR_RETURN_IF_ERROR(Check(request.params, request.in, pads.total));
    return std::optional(PadAndCropReads(request.in, Steps(pads), schema_.config().mode,
                                         Padded(request.wanted, request.params), context));
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    PadAndCrop(in, Steps(schema_.PadsFor(in.spec)), schema_.config().mode,
               Padded(out->held, params), context, memory, out);
    return Status::Ok();
  }

 private:
  static std::span<const Padding> Steps(const RandomCropSchema::Pads& pads) {
    return std::span(pads.steps).first(static_cast<std::size_t>(pads.count));
  }
  // A part of the crop, in coordinates of the padded image.
  static Window Padded(const Window& part, Params params) {
    return {params[0] + part.top, params[1] + part.left, part.height, part.width};
  }
  Status Check(Params params, const ImageSpec& in, const Padding& pad) const {
    ImageSpec padded = in;
    padded.height += pad.top + pad.bottom;
    padded.width += pad.left + pad.right;
    const Size& size = schema_.config().size;
    if (IsInside({params[0], params[1], size.height, size.width}, padded)) return Status::Ok();
    return InvalidArgument("crop is not in the image");
  }
};

}  // namespace

void RegisterKernelRandomCrop(KernelRegistry& registry) {
  registry.Add<RandomCropKernel, RandomCropSchema>("random_crop");
}

}  // namespace headrace::ops
