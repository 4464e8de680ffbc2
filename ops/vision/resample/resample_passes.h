#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/resample/resample_axis.h"

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

// The passes of kTorchFloats. What lies between them are floats, and their sums are added up as
// torch's compiler does it: the first product; then whole blocks of taps, of which each product is
// rounded before it is added; and the taps that are left by fused multiply-add. Arguments and
// bounds as above.
struct FloatPasses {
  static constexpr int kBlock = ResampleAxis::kGroup;

  using Horizontal = void (*)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                              ConstRows src, std::int32_t src_begin, std::int64_t rows,
                              MutableRows dst);
  // Rows of row_values floats or bytes. May read up to 31 values behind a row.
  using Vertical = void (*)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                            ConstRows src, std::int32_t src_begin, std::size_t row_values,
                            MutableRows dst);

  Horizontal horizontal_to_floats;
  Horizontal horizontal_to_bytes;
  Vertical vertical_of_floats;
  Vertical vertical_of_bytes;
};

extern const ResamplePasses kScalarPasses;
extern const FloatPasses kScalarFloatPasses;
#if defined(__x86_64__)
extern const ResamplePasses kAvx2Passes;
extern const ResamplePasses kAvx512VnniPasses;
extern const FloatPasses kAvx2FloatPasses;  // also uses FMA
#endif

}  // namespace headrace::ops
