#include "ops/affine/affine.h"

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

class AffineTransformKernel final : public ImageKernel {
 public:
  explicit AffineTransformKernel(const AffineTransformSchema& schema)
      : options_(schema.options()) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    Work work(in, memory, context.scratch(0));
    work.Replace([&](std::uint8_t* pixels) {
      TransformAffine(in, options_.matrix, options_.interpolation, options_.fill, pixels);
    });
    out->data = work.image().data;
    out->pixel_stride = work.image().pixel_stride;
    out->row_stride = work.image().row_stride;
    return Status::Ok();
  }

 private:
  const AffineTransformSchema::Options& options_;  // the schema's, which outlives its kernels
};

}  // namespace

void RegisterKernelAffine(KernelRegistry& registry) {
  registry.Add<AffineTransformKernel, AffineTransformSchema>("affine");
}

}  // namespace headrace::ops
