#include "ops/core/schema_util.h"

#include <cmath>
#include <string>
#include <vector>

#include "ops/core/gate.h"

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

ArgSpec GeneratorArg() {
  return ArgSpec{"generator", ArgType::kText, std::nullopt,
                 "python: what is drawn comes from Python's generator; left out: from torch's"}
      .OneOf({"python"});
}

Result<bool> ReadFromPython(const OpArgs& args) {
  if (!args.Has("generator")) return false;
  if (args.Text("generator") == "python") return true;
  return Unsupported("generator " + args.Text("generator"));
}

ArgSpec PartsArg() {
  return ArgSpec{"parts",           ArgType::kInts,      {}, "how many nodes each part has",
                 /*required=*/true, /*only_pixels=*/true}
      .In(1, GateSchema::kMostNodes);
}

Result<std::vector<int>> ReadParts(const OpArgs& args) {
  std::vector<int> parts;
  std::int64_t all = 0;
  for (const std::int64_t nodes : args.Ints("parts")) {
    all += nodes;
    if (nodes < 1 || nodes > GateSchema::kMostNodes || all > GateSchema::kMostNodes) {
      return Unsupported("a gate of no node, or of too many");
    }
    parts.push_back(static_cast<int>(nodes));
  }
  if (parts.empty()) return Unsupported("a gate of no node, or of too many");
  return parts;
}

std::int64_t RoundHalfEven(double x) { return static_cast<std::int64_t>(std::nearbyint(x)); }

}  // namespace headrace::ops
