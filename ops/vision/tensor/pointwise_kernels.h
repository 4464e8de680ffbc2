#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {

// Kernels of one instruction set for gray pixels of 1 byte and colour pixels of 4 bytes. `table`
// holds 256 elements for each channel. If a kernel is absent, use the portable code.
struct PointwiseKernels {
  void (*table8)(const Image& in, Flip flip, const std::uint8_t* table,
                 std::uint8_t* out) = nullptr;
  void (*table16)(const Image& in, Flip flip, const std::uint8_t* table,
                  std::uint8_t* out) = nullptr;
  void (*table32)(const Image& in, Flip flip, const std::uint8_t* table,
                  std::uint8_t* out) = nullptr;
  void (*planes)(const Image& in, Flip flip, std::uint8_t* out) = nullptr;
  bool takes_packed = false;  // also colour pixels of 3 bytes
};

#if defined(__x86_64__)
extern const PointwiseKernels kAvx2Pointwise;
extern const PointwiseKernels kAvx512VbmiPointwise;
#endif

// The first byte of the input row that becomes output row y.
[[nodiscard]] inline const std::uint8_t* SourceRow(const Image& in, Flip flip, std::int64_t y) {
  return in.data + (flip.vertical ? in.spec.height - 1 - y : y) * in.row_stride;
}

}  // namespace headrace::ops
