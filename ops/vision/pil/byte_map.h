#pragma once

#include <array>
#include <cstdint>

#include "ops/vision/canvas.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

using ByteTable = std::array<std::uint8_t, 256>;

// Replaces each value by its entry in its channel's table. REQUIRES: 1 or 3 channels. Tables past
// the last channel are ignored.
void MapValues(const Canvas& image, const std::array<ByteTable, 3>& tables,
               PointwiseLevel level = DetectPointwiseLevel());

// Uses the same table for all channels.
void MapValues(const Canvas& image, const ByteTable& table,
               PointwiseLevel level = DetectPointwiseLevel());

// Makes the table of value_of(int) for each value.
template <typename ValueOf>
[[nodiscard]] ByteTable MakeByteTable(ValueOf value_of) {
  ByteTable table;
  for (int v = 0; v < 256; ++v) {
    table[static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(value_of(v));
  }
  return table;
}

}  // namespace headrace::ops
