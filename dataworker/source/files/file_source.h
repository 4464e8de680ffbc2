#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "dataworker/source/core/source.h"
#include "dataworker/source/files/direct_reads.h"
#include "dataworker/source/files/file_reader.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// A source of the files of a file table: what such sources share. A file in the page cache is read
// on the caller's thread; any other one on an io thread, where the read may wait (DirectReads). An
// identity is never valid for longer than its use: nobody tells us when a file changes.
class FileSource : public Source {
 public:
  // A row has `files` files: those of row r are the paths r * files, r * files + 1, ... of the
  // table, and its label is that of the first. REQUIRES: environment.io; table.size() is a multiple
  // of `files`.
  FileSource(BlobContent table_bytes, wire::FileTableView table, int files,
             const SourceRegistry::Environment& environment);

  [[nodiscard]] std::int64_t rows() const override { return table_.size() / files_; }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override { return PathOf(row); }
  [[nodiscard]] int files() const override { return files_; }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return true; }
  [[nodiscard]] bool waits() const override { return !direct_.direct(); }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                             ScratchBuffer& buffer) const override;
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override;
  void Stop() override { stopped_ = true; }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override;

  // The file table of a leaf, with the memory that it views. kNotFound: there is none.
  struct Table {
    BlobContent bytes;
    wire::FileTableView view;
  };
  static Result<Table> OpenTable(const SourceLeaf& leaf,
                                 const SourceRegistry::Environment& environment);

 protected:
  // Answers as far as `pace` lets it. REQUIRES: `row` is one.
  [[nodiscard]] virtual RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                         Pace& pace) const = 0;
  // REQUIRES: file < files().
  [[nodiscard]] std::string PathOf(std::int64_t row, int file = 0) const {
    return table_.Path(row * files_ + file);
  }
  [[nodiscard]] const FileReader& reader() const { return reader_; }

 private:
  // Answers on an io thread, for as long as it takes.
  [[nodiscard]] RowAnswer Wait(Ask ask, std::int64_t row) const;

  const BlobContent table_bytes_;  // keeps the view's memory
  const wire::FileTableView table_;
  const int files_;
  const FileReader reader_;
  IoExecutor& io_;
  mutable DirectReads direct_;
  std::atomic<bool> stopped_ = false;
  const Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

}  // namespace headrace::dataworker
