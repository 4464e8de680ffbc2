#pragma once

#include <functional>
#include <span>

#include "base/graph.h"
#include "base/result.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Checks whether nodes have a native form, where the values of some are wanted (none named: of the
// last one). If so, says after how many of them the cache point is worth placing
// (ops::Graph::pure_prefix). Otherwise kUnsupported or kInvalidArgument with the reason. Pure.
using NativeCheck =
    std::function<Result<int>(std::span<const Node> nodes, std::span<const std::int32_t> values,
                              const ClientLibraries& libraries)>;

// Checks against the operators of this build.
[[nodiscard]] NativeCheck BuiltinNativeCheck();

// Cuts a plan. Workers get the longest prefix of the chain that is stateless and native; the
// trainer gets the rest. A plan that is no single chain goes whole, or not at all. The cache point follows the longest pure prefix of the workers' part. A
// plan with a Python stage goes to the workers as a whole. `reasons` has one line for each node
// that stays, in order. Pure. kInvalidArgument: not a plan (no source, no field, a field of
// nothing, no lane, a node before its input).
[[nodiscard]] Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check);

}  // namespace headrace::coordinator
