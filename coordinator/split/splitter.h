#pragma once

#include <functional>
#include <span>

#include "base/graph.h"
#include "base/result.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Where a chain of native operators may be cut.
struct NativeForm {
  int pure_prefix = 0;  // ops::Chain::pure_prefix: the cache point follows these nodes
  int tail = 0;         // ops::Chain::tail: the trainer may finish samples from this node on
};
// Checks whether a chain has a native form. Otherwise kUnsupported or kInvalidArgument with the
// reason. Pure.
using NativeCheck = std::function<Result<NativeForm>(std::span<const Node> chain,
                                                     const ClientLibraries& libraries)>;

// Checks against the operators of this build.
[[nodiscard]] NativeCheck BuiltinNativeCheck();

// Says where a plan may be cut: at its cache point, and before the tail that a trainer may finish. A
// plan with a Python stage is not cut. Pure. kUnsupported: a node is not stateless and native; the
// plan then stays with its trainer. kInvalidArgument: not a plan (no source, no field, a field of
// nothing, no lane).
[[nodiscard]] Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check);

}  // namespace headrace::coordinator
