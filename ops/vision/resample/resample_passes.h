#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/resample/resample_axis.h"

namespace headrace::ops {

// Bytes of pixels in rows.
struct ConstRows {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;  // bytes
};
struct MutableRows {
  std::uint8_t* data = nullptr;
  std::size_t stride = 0;  // bytes
};

// The two passes for one instruction set. They compute outputs [begin, end) of `axis`. src.data is
// input position `src_begin` of that axis. Destination and source do not overlap.
struct ResamplePasses {
  // Works on rows of 4-byte pixels. May read up to 12 bytes past the last pixel of a row.
  void (*horizontal)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                     std::int32_t src_begin, std::int64_t rows, MutableRows dst);
  // Works on rows of `row_bytes` bytes of any meaning; `src_rows` rows exist. May read up to 63
  // bytes past a row; writes row_bytes exactly.
  void (*vertical)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end, ConstRows src,
                   std::int32_t src_begin, std::int64_t src_rows, std::size_t row_bytes,
                   MutableRows dst);
};

// The passes of kTorchFloats and kFloats. The values between the two passes are floats. Their sums are added up
// in the order of torch's compiler: the first product comes first. Then come whole blocks of taps,
// where each product is rounded before it is added. The remaining taps use fused multiply-add.
// Arguments and bounds as above.
struct FloatPasses {
  static constexpr int kBlock = ResampleAxis::kGroup;

  using Horizontal = void (*)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                              ConstRows src, std::int32_t src_begin, std::int64_t rows,
                              MutableRows dst);
  // Works on rows of row_values floats or bytes. May read up to 31 values past a row.
  using Vertical = void (*)(const ResampleAxis& axis, std::int32_t begin, std::int32_t end,
                            ConstRows src, std::int32_t src_begin, std::size_t row_values,
                            MutableRows dst);

  Horizontal horizontal_to_floats;
  Horizontal horizontal_to_bytes;
  Vertical vertical_of_floats;
  Vertical vertical_of_bytes;
  // Of kFloats, whose images are floats before, between and after the passes. A pixel is four.
  Horizontal horizontal_of_floats;
  Vertical vertical_to_floats;
};

extern const ResamplePasses kScalarPasses;
extern const FloatPasses kScalarFloatPasses;
#if defined(__x86_64__)
extern const ResamplePasses kAvx2Passes;
extern const ResamplePasses kAvx512VnniPasses;
extern const FloatPasses kAvx2FloatPasses;  // also uses FMA
#endif

}  // namespace headrace::ops
