#include "schemas/wire/field_layout.h"

#include <algorithm>

#include "base/tensor_spec.h"

namespace headrace::wire {
namespace {

std::optional<std::uint64_t> BytesOf(DType dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = DTypeBytes(dtype);
  if (bytes == 0) return std::nullopt;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::span<const std::int64_t> SizesOf(const FieldLayout& field, std::size_t row) {
  const std::size_t rank = field.shape.size() - 1;
  return std::span(field.row_sizes).subspan(row * rank, rank);
}

// Whether there are sizes for each dimension of each row.
bool RowsFit(const FieldLayout& field) {
  if (field.shape.size() < 2 || field.shape[0] <= 0) return false;
  const auto is_any = [](std::int64_t size) { return size == Dims::kAny; };
  if (!std::all_of(field.shape.begin() + 1, field.shape.end(), is_any)) return false;
  const std::size_t rank = field.shape.size() - 1;
  return field.row_sizes.size() % rank == 0 &&
         field.row_sizes.size() / rank == static_cast<std::uint64_t>(field.shape[0]);
}

}  // namespace

std::optional<std::uint64_t> FieldBytes(const FieldLayout& field) {
  if (!IsList(field)) return BytesOf(field.dtype, field.shape);
  if (!RowsFit(field)) return std::nullopt;
  std::uint64_t end = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(field.shape[0]); ++row) {
    const std::optional<std::uint64_t> bytes = BytesOf(field.dtype, SizesOf(field, row));
    const std::uint64_t begin = AlignField(end);
    if (!bytes || begin < end || __builtin_add_overflow(begin, *bytes, &end)) return std::nullopt;
  }
  return end;
}

std::vector<FieldRow> RowsOf(const FieldLayout& field) {
  std::vector<FieldRow> rows(static_cast<std::size_t>(field.shape[0]));
  std::uint64_t end = field.offset;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::span<const std::int64_t> sizes = SizesOf(field, row);
    rows[row] = {sizes, AlignField(end), BytesOf(field.dtype, sizes).value_or(0)};
    end = rows[row].offset + rows[row].bytes;
  }
  return rows;
}

}  // namespace headrace::wire
