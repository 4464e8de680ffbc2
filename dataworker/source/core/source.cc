#include "dataworker/source/core/source.h"

#include <string>

namespace headrace::dataworker {

Result<std::unique_ptr<Source>> SourceRegistry::Make(const SourceLeaf& leaf,
                                                     const Environment& environment) const {
  const auto factory = factories_.find(leaf.kind);
  if (factory == factories_.end()) {
    return Unsupported("this worker has no source of kind " +
                       std::to_string(static_cast<int>(leaf.kind)));
  }
  HR_TRY(auto source, factory->second(leaf, environment));
  if (source->rows() != leaf.rows) {
    return InvalidArgument("the plan says " + std::to_string(leaf.rows) + " rows, its source has " +
                           std::to_string(source->rows()));
  }
  return source;
}

}  // namespace headrace::dataworker
