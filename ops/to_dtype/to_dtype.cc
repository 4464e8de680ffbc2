#include "ops/to_dtype/to_dtype.h"

#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

class ToDtypeKernel final : public Kernel {
 public:
  explicit ToDtypeKernel(const ToDtypeSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  [[nodiscard]] float Map(int /*channel*/, float value) const override {
    switch (schema_.rule()) {
      case ToDtypeSchema::Rule::kDivide:
        return value / 255.0F;
      case ToDtypeSchema::Rule::kMultiply:
        return value * static_cast<float>(1.0 / 255.0);
      case ToDtypeSchema::Rule::kKeep:
        break;
    }
    return value;
  }

 private:
  const ToDtypeSchema& schema_;  // of the chain, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<ToDtypeKernel>(static_cast<const ToDtypeSchema&>(schema));
}

}  // namespace

void RegisterKernelToDtype(KernelRegistry& registry) { registry.Add("to_dtype", Make); }

}  // namespace headrace::ops
