#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Where a plan of native operators may be cut.
struct NativeForm {
  int pure_prefix = 0;  // ops::Graph::pure_prefix: the cache point follows these nodes
  int tail = 0;         // ops::Graph::tail: the trainer may finish samples from this node on
  int files = 1;        // ops::Graph::files: a row of each source has as many
  // Of ops::Graph::prefix_text: of the nodes before the cache points of all pictures.
  std::uint64_t prefix_hash = 0;
  // The same, if the cache point were after 1, 2, ... nodes; the last is that. Of a plan with one picture.
  std::vector<std::uint64_t> prefixes = {};
};
// Checks whether nodes have a native form, where the values of some are wanted (none named: of the
// last one). Otherwise kUnsupported or kInvalidArgument with the reason. Pure.
using NativeCheck = std::function<Result<NativeForm>(std::span<const Node> nodes,
                                                     std::span<const std::int32_t> values,
                                                     const ClientLibraries& libraries)>;

// Checks against the operators of this build.
[[nodiscard]] NativeCheck BuiltinNativeCheck();

// Says where a plan may be cut: at its cache point, and before the tail that a trainer may finish. A
// plan with a Python stage is not cut. Pure. kUnsupported: a node is not stateless and native; the
// plan then stays with its trainer. kInvalidArgument: not a plan (no source, no field, a field of
// nothing, no lane, a node before its input, rows of another number of files than the nodes take).
// `form`: unless null, gets what the check said. It stays as it is where nothing was checked.
[[nodiscard]] Result<wire::Split> SplitPlan(const Plan& plan, const NativeCheck& check,
                                            NativeForm* form = nullptr);

}  // namespace headrace::coordinator
