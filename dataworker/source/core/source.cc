#include "dataworker/source/core/source.h"

#include <string>

namespace headrace::dataworker {

Status CheckNoArgs(const SourceLeaf& leaf) {
  if (leaf.args.empty()) return {};
  return InvalidArgument("the source '" + leaf.source + "' has no argument '" +
                         leaf.args.begin()->first + "'");
}

Status CheckRow(std::int64_t row, std::int64_t rows) {
  if (row >= 0 && row < rows) return {};
  return InvalidArgument("row " + std::to_string(row) + " of " + std::to_string(rows));
}

Result<std::unique_ptr<Source>> SourceRegistry::Make(const SourceLeaf& leaf,
                                                     const Environment& environment) const {
  const auto factory = factories_.find(leaf.source);
  if (factory == factories_.end()) {
    return Unsupported("this worker has no source '" + leaf.source + "'");
  }
  HR_TRY(auto source, factory->second(leaf, environment));
  if (source->rows() != leaf.rows) {
    return InvalidArgument("the plan says " + std::to_string(leaf.rows) + " rows, its source has " +
                           std::to_string(source->rows()));
  }
  return source;
}

}  // namespace headrace::dataworker
