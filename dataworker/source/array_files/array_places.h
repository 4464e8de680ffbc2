#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataworker/source/columns/elements.h"
#include "dataworker/source/columns/memory_columns.h"

// What the arguments of a leaf of array files mean. Pure.
namespace headrace::dataworker {

// A column whose row r is the bytes [first + r * stride, + size) of a file.
struct FileColumn {
  std::int64_t file = 0;    // which
  std::int64_t first = 0;   // of row 0
  std::int64_t stride = 0;  // may be 0, or negative
  std::uint64_t size = 0;   // of a row in the file
  Elements elements;
  std::size_t in_record = 0;  // where its bytes are among those that are read for a row
};

// What is read of a file for a row: columns that overlap, or nearly do, are read together.
struct RecordPart {
  std::int64_t file = 0;
  std::int64_t first = 0;  // of row 0
  std::int64_t stride = 0;
  std::uint64_t size = 0;
  std::size_t in_record = 0;  // parts lie one after the other
};

struct ArrayPlaces {
  struct NamedFile {
    std::string path, version;
  };
  // One of the two. Its column tells type and shape.
  struct Column {
    Source::Column column;
    std::optional<MemoryColumn> memory;
    std::optional<FileColumn> file;
  };
  std::vector<NamedFile> files;
  std::vector<Column> columns;  // one for each of the leaf's arrays
  std::vector<RecordPart> parts;
  std::size_t record_bytes = 0;
};

// Reads the leaf's arguments, of file f and of array i:
//
//   path<f>      text
//   version<f>   text, of the file in the state that the plan means (wire::VersionOfFile)
//   place<i>     [file, first byte of row 0, bytes from row to row]; without it: the array is a blob
//   elements<i>  what its elements are in the file (Elements); without it: as the array says
//
// kInvalidArgument: an argument that is none of these, or rows that reach beyond their file; kNotFound:
// a blob is missing; kUnsupported: elements that are not known.
[[nodiscard]] Result<ArrayPlaces> ReadArrayPlaces(const SourceLeaf& leaf, const BlobLookup& blob);

}  // namespace headrace::dataworker
