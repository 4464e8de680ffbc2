#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

// The argument "generator", of operators that may draw from Python's.
[[nodiscard]] ArgSpec GeneratorArg();
// Whether it names Python's. kUnsupported: neither that nor torch's.
Result<bool> ReadFromPython(const OpArgs& args);

// The argument "parts" of a gate, whose parts are in the nodes that follow it.
[[nodiscard]] ArgSpec PartsArg();
// kUnsupported: no part, an empty one, or too many nodes.
Result<std::vector<int>> ReadParts(const OpArgs& args);

// Python's round(): half to even.
[[nodiscard]] std::int64_t RoundHalfEven(double x);

}  // namespace headrace::ops
