#include <vector>

#include "coordinator/split/splitter.h"
#include "ops/core/chain.h"

namespace headrace::coordinator {

NativeCheck BuiltinNativeCheck() {
  return [](std::span<const Node> prefix, const ClientLibraries& libraries) -> Result<int> {
    // The plan's constants are blobs between trainer and worker; shapes and purity don't need them.
    HR_TRY(const ops::Chain chain,
           ops::Chain::Compile({prefix.begin(), prefix.end()}, libraries, {}));
    return chain.pure_prefix();
  };
}

}  // namespace headrace::coordinator
