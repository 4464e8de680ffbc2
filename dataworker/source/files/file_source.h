#pragma once

#include <cstdint>
#include <string>

#include "dataworker/source/files/blocking_source.h"
#include "dataworker/source/files/file_reader.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// A source of the files of a file table: what such sources share.
class FileSource : public BlockingSource {
 public:
  // A row has `files` files: those of row r are the paths r * files, r * files + 1, ... of the
  // table, and its label is that of the first. REQUIRES: environment.io; table.size() is a multiple
  // of `files`.
  FileSource(BlobContent table_bytes, wire::FileTableView table, int files,
             const SourceRegistry::Environment& environment);

  [[nodiscard]] std::int64_t rows() const override { return table_.size() / files_; }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override { return PathOf(row); }
  [[nodiscard]] int files() const override { return files_; }

  // The file table of a leaf, with the memory that it views. kNotFound: there is none.
  struct Table {
    BlobContent bytes;
    wire::FileTableView view;
  };
  static Result<Table> OpenTable(const SourceLeaf& leaf,
                                 const SourceRegistry::Environment& environment);

 protected:
  [[nodiscard]] std::int64_t LabelOf(std::int64_t row) const override {
    return table_.Label(row * files_);
  }
  // REQUIRES: file < files().
  [[nodiscard]] std::string PathOf(std::int64_t row, int file = 0) const {
    return table_.Path(row * files_ + file);
  }
  [[nodiscard]] const FileReader& reader() const { return reader_; }

 private:
  const BlobContent table_bytes_;  // keeps the view's memory
  const wire::FileTableView table_;
  const int files_;
  const FileReader reader_;
};

}  // namespace headrace::dataworker
