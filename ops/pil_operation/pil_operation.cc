#include "ops/pil_operation/pil_operation.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/pil/box_blur.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/pil/image_ops.h"
#include "ops/vision/pil/sharpness.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

using Operation = PilOperationSchema::Operation;

class PilOperationKernel final : public ImageKernel {
 public:
  explicit PilOperationKernel(const PilOperationSchema& schema) : options_(schema.options()) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    const bool pixel_by_pixel =
        options_.operation == Operation::kBrightness || options_.operation == Operation::kColor;
    if (pixel_by_pixel) return std::optional(request.wanted);
    return std::optional<Window>();  // needs a histogram, a mean, or neighbours
  }

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    Work work(in.Part(in.held), memory, context.scratch(0));
    Apply(work, context.scratch(1));
    out->data = work.image().data;
    out->row_stride = work.image().row_stride;
    out->pixel_stride = work.image().pixel_stride;
    return Status::Ok();
  }

 private:
  void Apply(Work& work, ScratchBuffer& lines) const {
    const float factor = options_.factor;
    switch (options_.operation) {
      case Operation::kAutoContrast:
        return AutoContrast(work.Writable());
      case Operation::kEqualize:
        return Equalize(work.Writable());
      case Operation::kBrightness:
        return AdjustBrightness(work.Writable(), factor);
      case Operation::kColor:
        return AdjustSaturation(work.Writable(), factor);
      case Operation::kContrast:
        return AdjustContrast(work.Writable(), factor);
      case Operation::kSharpness:
        return work.Replace(
            [&](std::uint8_t* pixels) { AdjustSharpness(work.image(), factor, pixels); });
      case Operation::kGaussianBlur:
        return work.Replace(
            [&](std::uint8_t* pixels) { PilGaussianBlur(work.image(), factor, lines, pixels); });
    }
  }

  const PilOperationSchema::Options& options_;  // the schema's, which outlives its kernels
};

}  // namespace

void RegisterKernelPilOperation(KernelRegistry& registry) {
  registry.Add<PilOperationKernel, PilOperationSchema>("pil_operation");
}

}  // namespace headrace::ops
