#include "ops/random_resized_crop/random_resized_crop.h"

#include "ops/core/op_registry.h"
#include "ops/vision/floats.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/resample/crop_resize.h"

namespace headrace::ops {
namespace {

class RandomResizedCropKernel final : public FloatKernel {
 public:
  explicit RandomResizedCropKernel(const CropResize& resize) : resize_(resize) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    const Window crop = CropOf(request.params);
    if (!IsInside(crop, request.in)) return InvalidArgument("parameters are of another image");
    HR_TRY(const Window read, resize_.InputWindow(crop, request.out, request.wanted, context));
    return std::optional(read);
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    return resize_.Run(CropOf(params), in, context, memory, out);
  }

 private:
  static Window CropOf(Params params) { return {params[0], params[1], params[2], params[3]}; }

  CropResize resize_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<RandomResizedCropKernel>(CropResize(
      static_cast<const RandomResizedCropSchema&>(schema).resizing(), context.libraries->pillow));
}

}  // namespace

void RegisterKernelRandomResizedCrop(KernelRegistry& registry) {
  registry.Add("random_resized_crop", Make);
}

}  // namespace headrace::ops
