// Encoded images in files: the paths and labels of a file table.
#include <algorithm>
#include <memory>
#include <string>
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
    answer.status = Fill(ask, PathOf(row), buffer, pace, answer);
    return answer;
  }

  Status Fill(Ask ask, const std::string& path, ScratchBuffer& buffer, Pace& pace,
              RowAnswer& answer) const {
    switch (ask) {
      case Ask::kIdentity: {
        HR_TRY(answer.sample.content, reader().Identify(path, pace));
        return {};
      }
      case Ask::kSpec: {
        HR_TRY(answer.spec, reader().Describe(path, buffer, &answer.bytes_read, pace));
        return {};
      }
      case Ask::kBytes: {
        HR_TRY(const FileReader::Opened opened, reader().Open(path, pace));
        const MutableByteSpan out{
            reinterpret_cast<std::byte*>(buffer.Ensure(std::max(opened.size, std::size_t{1}))),
            opened.size};
        HR_RETURN_IF_ERROR(FileReader::Read(opened, path, out, pace));
        answer.sample = {.bytes = out, .encoded = true, .row = {}, .content = opened.content};
        answer.bytes_read = opened.size;
        return {};
      }
      case Ask::kWitness:
      case Ask::kWholeWitness: {
        const bool whole = ask == Ask::kWholeWitness;
        HR_TRY(answer.witness, reader().BearWitness(path, whole, &answer.bytes_read, pace));
        return {};
      }
    }
    return Internal("a question that files do not know");
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
