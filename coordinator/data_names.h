#pragma once

#include <span>

#include "base/graph.h"

namespace headrace::coordinator {

// What the sources of a plan say of its samples. Pure.
struct DataNames {
  bool far = false;         // some are objects in stores, so that a read of them takes time
  bool everywhere = false;  // all are, and their URLs mean the same on every host
};
[[nodiscard]] DataNames NamesOf(std::span<const SourceLeaf> leaves);

}  // namespace headrace::coordinator
