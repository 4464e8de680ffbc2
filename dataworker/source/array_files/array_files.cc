// Rows of arrays that lie in files, as a memory map of the program's has them: np.memmap, np.load with
// mmap_mode. They are read, and not mapped: a page that the file has no longer would end the worker.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/source/array_files/array_places.h"
#include "dataworker/source/array_files/kept_file.h"
#include "dataworker/source/files/blocking_source.h"

namespace headrace::dataworker {
namespace {

class ArrayFiles final : public BlockingSource {
 public:
  ArrayFiles(std::int64_t rows, ArrayPlaces places, std::optional<TensorSpec> row,
             const SourceRegistry::Environment& environment)
      : BlockingSource(environment),
        rows_(rows),
        places_(std::move(places)),
        row_(std::move(row)),
        opener_(environment.allowed_roots) {
    for (const ArrayPlaces::NamedFile& file : places_.files) {
      files_.push_back(std::make_unique<KeptFile>(file.path, file.version, opener_));
    }
  }

  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override {
    if (places_.parts.empty()) return BlockingSource::NameOf(row);
    const RecordPart& part = places_.parts.front();
    return files_[static_cast<std::size_t>(part.file)]->path() + " at byte " +
           std::to_string(part.first + part.stride * row);
  }
  // The page cache has them as they are needed.
  [[nodiscard]] bool cacheable() const override { return false; }

  [[nodiscard]] const Column* column(std::int32_t index) const override {
    if (index < 0 || static_cast<std::size_t>(index) >= places_.columns.size()) return nullptr;
    return &places_.columns[static_cast<std::size_t>(index)].column;
  }
  [[nodiscard]] bool column_in_bytes(std::int32_t index) const override {
    return places_.columns[static_cast<std::size_t>(index)].file.has_value();
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row, rows_));
    const ArrayPlaces::Column& column = places_.columns[static_cast<std::size_t>(index)];
    if (!column.memory) return Internal("a column of a file is made of the row's bytes");
    column.memory->Copy(row, out);
    return {};
  }
  Status MakeColumn(std::int32_t index, ByteSpan bytes, MutableByteSpan out) const override {
    const ArrayPlaces::Column& column = places_.columns[static_cast<std::size_t>(index)];
    if (bytes.size() != places_.record_bytes) return Internal("bytes of another row");
    column.file->elements.Convert(bytes.subspan(column.file->in_record, column.file->size), out);
    return {};
  }

 private:
  [[nodiscard]] RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                 Pace& pace) const override {
    RowAnswer answer;
    answer.status = Fill(ask, row, buffer, pace, answer);
    return answer;
  }
  Status Fill(Ask ask, std::int64_t row, ScratchBuffer& buffer, Pace& pace,
              RowAnswer& answer) const {
    if (ask == Ask::kWitness || ask == Ask::kWholeWitness) {
      return Unsupported("a row of an array is known by its file's version");
    }
    if (ask == Ask::kIdentity) return {};
    answer.spec = row_ ? *row_ : TensorSpec{DType::kU8, Layout::kPlain, {RecordBytes()}};
    if (ask == Ask::kSpec) return {};
    const MutableByteSpan out{reinterpret_cast<std::byte*>(buffer.Ensure(places_.record_bytes + 1)),
                              places_.record_bytes};
    for (const RecordPart& part : places_.parts) {
      const auto first = static_cast<std::uint64_t>(part.first + part.stride * row);
      HR_RETURN_IF_ERROR(files_[static_cast<std::size_t>(part.file)]->Read(
          first, out.subspan(part.in_record, part.size), pace));
    }
    answer.bytes_read = places_.record_bytes;
    answer.sample = {.bytes = out, .encoded = false, .row = answer.spec, .content = {}};
    return {};
  }
  [[nodiscard]] std::int64_t RecordBytes() const {
    return static_cast<std::int64_t>(places_.record_bytes);
  }
  [[nodiscard]] std::int64_t LabelOf(std::int64_t /*row*/) const override { return 0; }

  const std::int64_t rows_;
  const ArrayPlaces places_;
  const std::optional<TensorSpec> row_;  // of a sample that is one array's row as it is
  const Opener opener_;
  std::vector<std::unique_ptr<KeptFile>> files_;
};

// The spec of a row's bytes where they are the first array's, and nothing else is read.
std::optional<TensorSpec> WholeRow(const SourceLeaf& leaf, const ArrayPlaces& places) {
  const std::optional<FileColumn>& first = places.columns.front().file;
  const std::optional<TensorSpec> rows = RowsOf(leaf.arrays.front());
  if (!first || !rows || first->size != places.record_bytes || !first->elements.same()) {
    return std::nullopt;
  }
  return rows;
}

Result<std::unique_ptr<Source>> MakeArrayFiles(const SourceLeaf& leaf,
                                               const SourceRegistry::Environment& environment) {
  HR_TRY(ArrayPlaces places, ReadArrayPlaces(leaf, environment.blob));
  std::optional<TensorSpec> row = WholeRow(leaf, places);
  return std::unique_ptr<Source>(
      std::make_unique<ArrayFiles>(leaf.rows, std::move(places), std::move(row), environment));
}

}  // namespace

void RegisterSourceArrayFiles(SourceRegistry& registry) {
  registry.Add("array_files", MakeArrayFiles);
}

}  // namespace headrace::dataworker
