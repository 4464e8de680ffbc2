#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/pil/box_blur.h"

// One pass of a box, for one instruction set. All give the same bits.
namespace headrace::ops {

inline constexpr int kBoxHalf = 1 << 23;  // to round
inline constexpr int kBoxShift = 24;

// Lines of `values` bytes, `count` of them, `stride` bytes apart.
struct BoxLines {
  std::size_t values = 0;
  std::int64_t count = 0;
  std::size_t stride = 0;
};

struct BoxBlurKernels {
  // Blurs across the lines: each value with those of the same place in the lines around. `sums` has
  // room for a line. REQUIRES: `in` and `out` do not overlap.
  void (*across)(const BoxLines& lines, const BoxWeights& box, const std::uint8_t* in,
                 std::uint32_t* sums, std::uint8_t* out);
  // Blurs along one line of `pixels` pixels of 4 bytes each. REQUIRES: they do not overlap.
  void (*along)(std::int64_t pixels, const BoxWeights& box, const std::uint8_t* in,
                std::uint8_t* out);
};

extern const BoxBlurKernels kScalarBoxBlur;
#if defined(__x86_64__)
extern const BoxBlurKernels kAvx2BoxBlur;
#endif

}  // namespace headrace::ops
