#include "ops/random_grayscale/random_grayscale.h"

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/floats.h"
#include "ops/vision/pil/luma.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/tensor_ops.h"

namespace headrace::ops {
namespace {

class RandomGrayscaleKernel final : public SchemaKernel<FloatKernel, RandomGrayscaleSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  // Each pixel comes from the same pixel.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(request.wanted);
  }
  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    if (params[0] == 0 || in.spec.channels == 1) {
      *out = in;
    } else if (in.spec.dtype == DType::kF32) {
      return FloatGray(in, schema_.api(), memory, context.scratch(0), out);
    } else if (schema_.tensor()) {
      TensorGray(in, schema_.api(), memory, out);
    } else {
      ConvertToLuma(in, memory, out);
    }
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelRandomGrayscale(KernelRegistry& registry) {
  registry.Add<RandomGrayscaleKernel, RandomGrayscaleSchema>("random_grayscale");
}

}  // namespace headrace::ops
