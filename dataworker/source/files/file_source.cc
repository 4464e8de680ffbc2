#include "dataworker/source/files/file_source.h"

#include <utility>

#include "base/check.h"

namespace headrace::dataworker {

FileSource::FileSource(BlobContent table_bytes, wire::FileTableView table, int files,
                       const SourceRegistry::Environment& environment)
    : BlockingSource(environment),
      table_bytes_(std::move(table_bytes)),
      table_(std::move(table)),
      files_(files),
      reader_(environment.allowed_roots, environment.read_header) {
  HR_CHECK(files > 0 && table_.size() % files == 0);
}

Result<FileSource::Table> FileSource::OpenTable(const SourceLeaf& leaf,
                                                const SourceRegistry::Environment& environment) {
  BlobContent bytes = environment.blob(leaf.table);
  if (!bytes) return NotFound("the file table of the plan is missing");
  HR_TRY(wire::FileTableView view, wire::FileTableView::Open(*bytes));
  return Table{std::move(bytes), std::move(view)};
}

}  // namespace headrace::dataworker
