#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ops/core/op.h"
#include "ops/core/op_registry.h"

// Helpers that schemas of every kind share: torch's ways to read arguments and to draw.
namespace headrace::ops {

// torch's name of an element type, such as "float32"; kUnsupported for bool, complex and the like.
Result<DType> ReadDType(const OpArgs& args, std::string_view name);

// How uniform_ rounds for the client's cpu_capability. kUnsupported: a capability that was never
// compared.
Result<TorchGenerator::Rounding> UniformRounding(const CompileContext& context);

// torch.rand(1) < p
[[nodiscard]] bool Happens(TorchGenerator& rng, double p);

// Python's round(): half to even.
[[nodiscard]] std::int64_t RoundHalfEven(double x);

}  // namespace headrace::ops
