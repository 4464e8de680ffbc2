#include "ops/random_grayscale/random_grayscale.h"

#include "ops/core/luma.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class RandomGrayscaleKernel final : public Kernel {
 public:
  // Each pixel comes from the same pixel.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(request.wanted);
  }
  Status Run(const Image& in, Params params, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    if (params[0] == 0 || in.spec.channels == 1) {
      *out = in;
    } else {
      ConvertToLuma(in, memory, out);
    }
    return Status::Ok();
  }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<RandomGrayscaleKernel>();
}

}  // namespace

void RegisterKernelRandomGrayscale(KernelRegistry& registry) {
  registry.Add("random_grayscale", Make);
}

}  // namespace headrace::ops
