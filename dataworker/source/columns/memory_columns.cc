#include "dataworker/source/columns/memory_columns.h"

#include <cstring>
#include <span>
#include <utility>

namespace headrace::dataworker {

std::optional<std::size_t> RowBytes(const SourceLeaf::Array& array) {
  std::size_t bytes = DTypeBytes(array.dtype);
  if (bytes == 0) return std::nullopt;
  for (const std::int64_t extent : array.row_shape) {
    if (extent < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::optional<TensorSpec> RowsOf(const SourceLeaf::Array& array) {
  if (array.row_shape.size() > Dims::kMost) return std::nullopt;
  return TensorSpec{array.dtype, Layout::kPlain, Dims(std::span(array.row_shape))};
}

void MemoryColumn::Copy(std::int64_t row, MutableByteSpan out) const {
  const ByteSpan bytes = Row(row);
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
}

Result<MemoryColumn> OpenMemoryColumn(const SourceLeaf::Array& array, std::int64_t rows,
                                      const BlobLookup& blob, const std::string& name) {
  const std::optional<std::size_t> row_bytes = RowBytes(array);
  if (!row_bytes) return InvalidArgument(name + " has an impossible shape or element type");
  BlobContent content = blob(array.blob);
  if (!content) return NotFound("the content of " + name + " is missing");
  std::size_t wanted = 0;
  if (__builtin_mul_overflow(*row_bytes, static_cast<std::size_t>(rows), &wanted) ||
      wanted != content->size()) {
    return InvalidArgument(name + " has " + std::to_string(content->size()) + " bytes, not " +
                           std::to_string(rows) + " rows of " + std::to_string(*row_bytes));
  }
  return MemoryColumn{
      std::move(content),
      {.dtype = array.dtype, .row_shape = array.row_shape, .row_bytes = *row_bytes}};
}

}  // namespace headrace::dataworker
