#include "ops/core/schema_util.h"

#include <cmath>
#include <string>

namespace headrace::ops {

Result<DType> ReadDType(const OpArgs& args, std::string_view name) {
  const std::string& text = args.Text(name);
  for (const DType type : {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                           DType::kF16, DType::kF32, DType::kF64, DType::kBF16}) {
    if (text == DTypeName(type)) return type;
  }
  return Unsupported(std::string(name) + " " + text + " has no native form");
}

Result<TorchGenerator::Rounding> UniformRounding(const CompileContext& context) {
  const std::string& capability = context.libraries->cpu_capability;
  if (capability == "AVX2" || capability == "AVX512") return TorchGenerator::Rounding::kFused;
  if (capability == "DEFAULT") return TorchGenerator::Rounding::kTwice;
  return Unsupported("torch's CPU capability \"" + capability + "\" has unknown uniform_ bits");
}

bool Happens(TorchGenerator& rng, double p) { return rng.Rand() < static_cast<float>(p); }

std::int64_t RoundHalfEven(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

}  // namespace headrace::ops
