#include "ops/normalize/normalize.h"

#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class NormalizeKernel final : public ImageKernel {
 public:
  explicit NormalizeKernel(const NormalizeSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  [[nodiscard]] double Map(int channel, double value) const override {
    const auto c = static_cast<std::size_t>(channel);
    const double shifted = RoundTo(schema_.dtype(), value - schema_.mean()[c]);
    return RoundTo(schema_.dtype(), shifted / schema_.std_dev()[c]);
  }

 private:
  const NormalizeSchema& schema_;  // the chain's, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<NormalizeKernel>(static_cast<const NormalizeSchema&>(schema));
}

}  // namespace

void RegisterKernelNormalize(KernelRegistry& registry) { registry.Add("normalize", Make); }

}  // namespace headrace::ops
