#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"

// Looks bytes up in tables of 256 elements.
namespace headrace::ops {

inline constexpr std::size_t kByteValues = 256;

// Kernels by instruction set; all give the same bits.
enum class LookupLevel : std::uint8_t { kScalar = 0, kAvx512Vbmi = 1 };
// The best level of this CPU.
[[nodiscard]] LookupLevel DetectLookupLevel();

// Writes the table's element for each value. `element`: bytes of one element, 1, 2, 4 or 8.
// REQUIRES: table.size() == 256 * element, out.size() == values.size() * element; both are aligned
// for an element.
void LookUpBytes(ByteSpan values, ByteSpan table, std::size_t element, MutableByteSpan out,
                 LookupLevel level = DetectLookupLevel());

}  // namespace headrace::ops
