#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

// The head of a .npy file. Pure. Source: NumPy, numpy/lib/format.py (versions 1.0 to 3.0).
namespace headrace::client {

struct NpyHeader {
  std::uint64_t bytes = 0;  // of the head: the elements begin after it
  std::string elements;     // "<f4"
  std::vector<std::int64_t> shape;
};

// So many first bytes of a file have its head, unless its shape is written at uncommon length.
inline constexpr std::size_t kNpyHead = 65536;

// kDataLoss: none of NumPy's, or torn. kUnsupported: Fortran's order, or elements that are no numbers.
[[nodiscard]] Result<NpyHeader> ReadNpyHeader(ByteSpan head);

}  // namespace headrace::client
