#pragma once

#include <span>

#include "base/graph.h"
#include "base/result.h"

namespace headrace {

// Checks that a row of each source has `files` files, which the nodes take. kInvalidArgument: one
// has more or fewer; errors of FilesOf.
[[nodiscard]] Status CheckFiles(std::span<const SourceLeaf> leaves, int files);

}  // namespace headrace
