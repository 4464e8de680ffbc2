#include "ops/channels_last/channels_last.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ChannelsLastKernel final : public ImageKernel {
 public:
  [[nodiscard]] bool folds() const override { return true; }
};

Result<KernelPtr> Make(const OpSchema& /*schema*/, const CompileContext& /*context*/) {
  return MakeKernel<ChannelsLastKernel>();
}

}  // namespace

void RegisterKernelChannelsLast(KernelRegistry& registry) { registry.Add("channels_last", Make); }

}  // namespace headrace::ops
