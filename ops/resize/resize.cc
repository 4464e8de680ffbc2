#include "ops/resize/resize.h"

#include "ops/core/op_registry.h"
#include "ops/image/resample.h"

namespace headrace::ops {
namespace {

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(Interpolation interpolation, PassOrder order)
      : filter_(static_cast<Filter>(interpolation)), order_(order) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    if (out->spec == in.spec) {
      *out = in;
      return Status::Ok();
    }
    const ResizeSpec spec{.in_width = in.spec.width,
                          .in_height = in.spec.height,
                          .out_width = out->spec.width,
                          .out_height = out->spec.height,
                          .filter = filter_,
                          .order = order_,
                          .box = std::nullopt};
    return context.Tool<Resampler>().Resize(spec, in, std::nullopt, std::nullopt, memory, out);
  }

 private:
  Filter filter_;
  PassOrder order_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(static_cast<const ResizeSchema&>(schema).interpolation(),
                                  PassOrderOfPillow(context.libraries->pillow));
}

}  // namespace

void RegisterKernelResize(KernelRegistry& registry) { registry.Add("resize", Make); }

}  // namespace headrace::ops
