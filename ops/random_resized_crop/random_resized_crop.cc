#include "ops/random_resized_crop/random_resized_crop.h"

#include "ops/core/op_registry.h"
#include "ops/image/resample.h"

namespace headrace::ops {
namespace {

class RandomResizedCropKernel final : public Kernel {
 public:
  RandomResizedCropKernel(Interpolation interpolation, PassOrder order)
      : filter_(static_cast<Filter>(interpolation)), order_(order) {}

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    Image crop = in;
    crop.data = in.At(params[0], params[1]);
    crop.spec.height = params[2];
    crop.spec.width = params[3];
    crop.held = {0, 0, crop.spec.height, crop.spec.width};
    if (out->spec == crop.spec) {
      *out = crop;
      return Status::Ok();
    }
    const ResizeSpec spec{.in_width = crop.spec.width,
                          .in_height = crop.spec.height,
                          .out_width = out->spec.width,
                          .out_height = out->spec.height,
                          .filter = filter_,
                          .order = order_,
                          .box = std::nullopt};
    return context.Tool<Resampler>().Resize(spec, crop, std::nullopt, std::nullopt, memory, out);
  }

 private:
  Filter filter_;
  PassOrder order_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<RandomResizedCropKernel>(
      static_cast<const RandomResizedCropSchema&>(schema).interpolation(),
      PassOrderOfPillow(context.libraries->pillow));
}

}  // namespace

void RegisterKernelRandomResizedCrop(KernelRegistry& registry) {
  registry.Add("random_resized_crop", Make);
}

}  // namespace headrace::ops
