#include <vector>

#include "base/hash.h"
#include "coordinator/split/splitter.h"
#include "ops/core/graph.h"

namespace headrace::coordinator {

NativeCheck BuiltinNativeCheck() {
  return [](std::span<const Node> nodes, std::span<const std::int32_t> values,
            const ClientLibraries& libraries) -> Result<NativeForm> {
    // The plan's constants are blobs between trainer and worker; shapes and purity don't need them.
    // Which values may have drawn sizes, the trainer and its workers look at.
    HR_TRY(const ops::Graph graph,
           ops::Graph::Compile({nodes.begin(), nodes.end()}, {values.begin(), values.end()},
                               libraries, {}, ops::TorchFunctions::Loaded(), values));
    NativeForm form{.pure_prefix = graph.pure_prefix(),
                    .tail = graph.tail(),
                    .files = graph.files(),
                    .prefix_hash = HashBytes(graph.prefix_text())};
    for (int n = 1; graph.pictures().size() == 1 && n <= graph.pure_prefix(); ++n) {
      form.prefixes.push_back(HashBytes(graph.LimitedTo(n).prefix_text()));
    }
    return form;
  };
}

}  // namespace headrace::coordinator
