#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/image/resample_axis.h"

namespace headrace::ops {

// Bytes of pixels that lie in rows.
struct ConstRows {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;  // bytes
};
struct MutableRows {
  std::uint8_t* data = nullptr;
  std::size_t stride = 0;  // bytes
};

// The two passes for one instruction set. Outputs [begin, end) of `axis` are computed; src.data is
// input position `src_begin` of that axis. Destination and source do not overlap.
struct ResamplePasses {
  // Rows of 4-byte pixels. May read up to 12 bytes behind the last pixel of a row.
  void (*horizontal)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                     std::int32_t src_begin, std::int64_t rows, MutableRows dst);
  // Rows of `row_bytes` bytes, whatever they mean; src_rows of them exist. May read up to 63 bytes
  // behind a row; writes row_bytes exactly.
  void (*vertical)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                   std::int32_t src_begin, std::int64_t src_rows, std::size_t row_bytes,
                   MutableRows dst);
};

extern const ResamplePasses kScalarPasses;
#if defined(__x86_64__)
extern const ResamplePasses kAvx2Passes;
extern const ResamplePasses kAvx512VnniPasses;
#endif

}  // namespace headrace::ops
