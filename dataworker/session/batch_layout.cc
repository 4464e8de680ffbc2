#include "dataworker/session/batch_layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schemas/wire/field_layout.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kMaxBatchBytes = std::uint64_t{1} << 40;

}  // namespace

std::span<const TensorSpec> BatchValues::first() const {
  const auto known = std::ranges::find_if(of_, [](const auto& values) { return !values.empty(); });
  return known == of_.end() ? std::span<const TensorSpec>() : std::span(*known);
}

Result<BatchLayout> BatchLayout::Make(std::span<const Field> fields, std::size_t batch,
                                      BatchValues values, bool before_tail) {
  BatchLayout layout;
  layout.values_ = std::move(values);
  for (const Field& field : fields) {
    HR_RETURN_IF_ERROR(layout.Place(field, batch, before_tail));
  }
  return layout;
}

Status BatchLayout::Place(const Field& field, std::size_t batch, bool before_tail) {
  wire::FieldLayout placed;
  placed.shape = {static_cast<std::int64_t>(batch)};
  placed.offset = wire::AlignField(bytes_);
  if (field.list) {
    PlaceList(field, batch, placed);
  } else {
    HR_RETURN_IF_ERROR(PlaceStack(field, placed));
    if (before_tail && field.value >= 0) placed.dtype = DType::kU8;
  }
  const std::optional<std::uint64_t> bytes = wire::FieldBytes(placed);
  if (!bytes || *bytes > kMaxBatchBytes) {
    return Unsupported("a batch of " + std::to_string(batch) + " samples is too large");
  }
  bytes_ = placed.offset + *bytes;
  std::vector<Row>& rows = rows_.emplace_back();
  if (!wire::IsList(placed)) {
    rows.push_back({placed.offset, static_cast<std::size_t>(*bytes / batch)});
  } else {
    for (const wire::FieldRow& row : wire::RowsOf(placed)) rows.push_back({row.offset, row.bytes});
  }
  fields_.push_back(std::move(placed));
  return {};
}

void BatchLayout::PlaceList(const Field& field, std::size_t batch,
                            wire::FieldLayout& placed) const {
  const auto value = static_cast<std::size_t>(field.value);
  const TensorSpec& first = values_.first()[value];
  const std::size_t rank = first.dims.rank();
  placed.dtype = first.dtype;
  placed.shape.insert(placed.shape.end(), rank, Dims::kAny);
  for (std::size_t position = 0; position < batch; ++position) {
    const std::span<const TensorSpec> values = values_.At(position);
    if (values.empty()) {
      placed.row_sizes.insert(placed.row_sizes.end(), rank, 0);
    } else {
      const Dims& dims = values[value].dims;
      placed.row_sizes.insert(placed.row_sizes.end(), dims.begin(), dims.end());
    }
  }
}

Status BatchLayout::PlaceStack(const Field& field, wire::FieldLayout& placed) const {
  if (field.value < 0) {
    placed.dtype = field.column->dtype;
    const std::vector<std::int64_t>& row = field.column->row_shape;
    placed.shape.insert(placed.shape.end(), row.begin(), row.end());
    return {};
  }
  const auto value = static_cast<std::size_t>(field.value);
  const TensorSpec& first = values_.first()[value];
  for (const std::vector<TensorSpec>& values : values_.all()) {
    if (!values.empty() && values[value] != first) {
      return Unsupported("the samples of the batch have different shapes");
    }
  }
  placed.dtype = first.dtype;
  placed.shape.insert(placed.shape.end(), first.dims.begin(), first.dims.end());
  return {};
}

BatchLayout::Row BatchLayout::At(std::size_t field, std::size_t position) const {
  const std::vector<Row>& rows = rows_[field];
  if (wire::IsList(fields_[field])) return rows[position];
  return {rows[0].offset + rows[0].bytes * position, rows[0].bytes};
}

}  // namespace headrace::dataworker
