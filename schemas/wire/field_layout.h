#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/wire/data.h"

// Where the rows of a batch's field lie. Pure.
namespace headrace::wire {

// Fields, and the rows of a list, begin at multiples of this, in bytes.
inline constexpr std::uint64_t kFieldAlignment = 64;
[[nodiscard]] constexpr std::uint64_t AlignField(std::uint64_t bytes) {
  return (bytes + kFieldAlignment - 1) / kFieldAlignment * kFieldAlignment;
}

// True if each row has its own sizes.
[[nodiscard]] inline bool IsList(const FieldLayout& field) { return !field.row_sizes.empty(); }

// Bytes from the field's start to the end of its last row. nullopt: an unknown element type, sizes
// that are negative or too large, or row_sizes that do not fit the shape.
[[nodiscard]] std::optional<std::uint64_t> FieldBytes(const FieldLayout& field);

struct FieldRow {
  std::span<const std::int64_t> shape;  // of the layout
  std::uint64_t offset = 0;             // from the slot's start, bytes
  std::uint64_t bytes = 0;
};
// The rows of a list, in order. The layout outlives them. REQUIRES: IsList, FieldBytes has a value.
[[nodiscard]] std::vector<FieldRow> RowsOf(const FieldLayout& field);

}  // namespace headrace::wire
