#include "ops/convert_image_dtype/convert_image_dtype.h"

#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class ConvertImageDtypeKernel final : public Kernel {
 public:
  explicit ConvertImageDtypeKernel(const ConvertImageDtypeSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  [[nodiscard]] float Map(int /*channel*/, float value) const override {
    switch (schema_.rule()) {
      case ConvertImageDtypeSchema::Rule::kDivide:
        return value / 255.0F;
      case ConvertImageDtypeSchema::Rule::kMultiply:
        return value * static_cast<float>(1.0 / 255.0);
      case ConvertImageDtypeSchema::Rule::kKeep:
        break;
    }
    return value;
  }

 private:
  const ConvertImageDtypeSchema& schema_;  // of the chain, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<ConvertImageDtypeKernel>(static_cast<const ConvertImageDtypeSchema&>(schema));
}

}  // namespace

void RegisterKernelConvertImageDtype(KernelRegistry& registry) {
  registry.Add("convert_image_dtype", Make);
}

}  // namespace headrace::ops
