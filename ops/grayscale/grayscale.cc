#include "ops/grayscale/grayscale.h"

#include "ops/core/luma.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class GrayscaleKernel final : public Kernel {
 public:
  // Each pixel comes from the same pixel.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(request.wanted);
  }
  Status Run(const Image& in, Params /*params*/, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    ConvertToLuma(in, memory, out);
    return Status::Ok();
  }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<GrayscaleKernel>();
}

}  // namespace

void RegisterKernelGrayscale(KernelRegistry& registry) { registry.Add("grayscale", Make); }

}  // namespace headrace::ops
