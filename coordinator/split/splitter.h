#pragma once

#include <functional>
#include <span>

#include "base/graph.h"
#include "base/result.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Says whether a list of nodes, from the chain's start, has a native form, and if so how many of
// its leading nodes are worth caching behind (ops::Chain::pure_prefix). kUnsupported or
// kInvalidArgument with the reason otherwise. Pure.
using NativeCheck =
    std::function<Result<int>(std::span<const Node> prefix, const ClientLibraries& libraries)>;

// The check against the operators of this build.
[[nodiscard]] NativeCheck BuiltinNativeCheck();

// Cuts a plan. Workers get the largest prefix of the chain that is stateless and native, the
// trainer the rest; the cache point is behind the longest pure prefix of the workers' part. A plan
// with a Python stage goes to the workers as a whole. `reasons` has one line for each node that
// stays, in order. Pure. kInvalidArgument: not a plan (no source, no field, a field of nothing, no
// lane).
[[nodiscard]] Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check);

}  // namespace headrace::coordinator
