#pragma once

#include "base/clock.h"
#include "base/graph.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "remote/store.h"

// What sources of objects share.
namespace headrace::dataworker {

// What a leaf says of its store, and for how long a version may be believed.
struct StoreArgs {
  remote::Store store;
  Duration valid_for{};
};

// Reads the leaf's arguments. kInvalidArgument: one that such sources do not know, or no store.
// kUnsupported: this worker reads no objects, or not those below this base.
[[nodiscard]] Result<StoreArgs> OpenStore(const SourceLeaf& leaf,
                                          const SourceRegistry::Environment& environment);

}  // namespace headrace::dataworker
