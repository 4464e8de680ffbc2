#pragma once

#include <string>
#include <vector>

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

// Whether a name ("s3://bucket/key") lies below one of the places that a worker may read: directories, and
// bases of objects. Without any it may read everything.
[[nodiscard]] bool IsBelowRoots(const std::string& name, const std::vector<std::string>& roots);

// Reads the leaf's arguments. kInvalidArgument: one that such sources do not know, or no store.
// kUnsupported: this worker reads no objects, or not those below this base.
[[nodiscard]] Result<StoreArgs> OpenStore(const SourceLeaf& leaf,
                                          const SourceRegistry::Environment& environment);

}  // namespace headrace::dataworker
