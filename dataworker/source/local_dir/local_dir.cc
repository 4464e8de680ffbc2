// Encoded images in files: the paths and labels of a file table.
#include <memory>
#include <utility>

#include "dataworker/source/files/file_source.h"

namespace headrace::dataworker {
namespace {

class LocalDir final : public FileSource {
 public:
  LocalDir(Table table, const SourceRegistry::Environment& environment)
      : FileSource(std::move(table.bytes), std::move(table.view), 1, environment) {}

 private:
  [[nodiscard]] RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                 Pace& pace) const override {
    RowAnswer answer;
    answer.status = reader().Fill(ask, {.path = PathOf(row)}, buffer, pace, answer);
    return answer;
  }
};

Result<std::unique_ptr<Source>> MakeLocalDir(const SourceLeaf& leaf,
                                             const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
  HR_TRY(FileSource::Table table, FileSource::OpenTable(leaf, environment));
  return std::unique_ptr<Source>(std::make_unique<LocalDir>(std::move(table), environment));
}

}  // namespace

void RegisterSourceLocalDir(SourceRegistry& registry) { registry.Add("local_dir", MakeLocalDir); }

}  // namespace headrace::dataworker
