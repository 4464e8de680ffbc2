#include "ops/to_dtype/to_dtype.h"

#include <cmath>

#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class ToDtypeKernel final : public ImageKernel {
 public:
  explicit ToDtypeKernel(const ToDtypeSchema& schema) : schema_(schema) {}
  [[nodiscard]] bool folds() const override { return true; }
  [[nodiscard]] double Map(int /*channel*/, double value) const override {
    const DType dtype = schema_.dtype();
    switch (schema_.rule()) {
      case ToDtypeSchema::Rule::kKeep:
        return RoundTo(dtype, value);
      case ToDtypeSchema::Rule::kWrap:
        return value < 128 ? value : value - 256;
      case ToDtypeSchema::Rule::kDivide:
        return RoundTo(dtype, value / 255.0);
      case ToDtypeSchema::Rule::kMultiply:
        // torch multiplies 16-bit floats by a float32 number.
        return RoundTo(dtype, value * (dtype == DType::kF64 ? 1.0 / 255.0
                                                            : RoundTo(DType::kF32, 1.0 / 255.0)));
      case ToDtypeSchema::Rule::kShift:
        break;
    }
    const int value_bits = static_cast<int>(DTypeBytes(dtype)) * 8 - 1;  // without the sign
    return std::floor(std::scalbn(value, value_bits - 8));
  }

 private:
  const ToDtypeSchema& schema_;  // the chain's, which outlives its kernels
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  return MakeKernel<ToDtypeKernel>(static_cast<const ToDtypeSchema&>(schema));
}

}  // namespace

void RegisterKernelToDtype(KernelRegistry& registry) { registry.Add("to_dtype", Make); }

}  // namespace headrace::ops
