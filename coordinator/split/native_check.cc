#include <vector>

#include "coordinator/split/splitter.h"
#include "ops/core/chain.h"

namespace headrace::coordinator {

NativeCheck BuiltinNativeCheck() {
  return [](std::span<const Node> chain, const ClientLibraries& libraries) -> Result<NativeForm> {
    // The plan's constants are blobs between trainer and worker; shapes and purity don't need them.
    HR_TRY(const ops::Chain compiled,
           ops::Chain::Compile({chain.begin(), chain.end()}, libraries, {}));
    return NativeForm{.pure_prefix = compiled.pure_prefix(), .tail = compiled.tail()};
  };
}

}  // namespace headrace::coordinator
