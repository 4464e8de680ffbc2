#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/tensor_spec.h"
#include "dataworker/source/core/source.h"

// What sources share whose fields are rows of arrays. Pure.
namespace headrace::dataworker {

// Bytes of one row; nullopt where its shape is none, or too large to be counted.
[[nodiscard]] std::optional<std::size_t> RowBytes(const SourceLeaf::Array& array);
// The rows of an array; nullopt: they have more dimensions than a sample may have.
[[nodiscard]] std::optional<TensorSpec> RowsOf(const SourceLeaf::Array& array);

// An array that came with the plan.
struct MemoryColumn {
  BlobContent content;
  Source::Column column;

  [[nodiscard]] ByteSpan Row(std::int64_t row) const {
    return content->subspan(static_cast<std::size_t>(row) * column.row_bytes, column.row_bytes);
  }
  // REQUIRES: out.size() == column.row_bytes.
  void Copy(std::int64_t row, MutableByteSpan out) const;
};
// `name`: of the array, for messages. kNotFound: its content is missing. kInvalidArgument: the content
// does not fit its shape and this number of rows.
[[nodiscard]] Result<MemoryColumn> OpenMemoryColumn(const SourceLeaf::Array& array,
                                                    std::int64_t rows, const BlobLookup& blob,
                                                    const std::string& name);

}  // namespace headrace::dataworker
