#pragma once

#include <cstdint>
#include <vector>

#include "ops/image/resample.h"

namespace headrace::ops {

// Fixed-point filter weights of one axis of a resize, as libImaging's precompute_coeffs and
// normalize_coeffs_8bpc make them, in the layouts that the passes want. Source: Pillow Resample.c.
struct ResampleAxis {
  // Weights have 22 fractional bits: 8 bits for the value and 2 for overflow stay free in int32.
  static constexpr int kPrecisionBits = 22;
  // Taps are stored in groups of so many; weights past count[i] are zero.
  static constexpr int kGroup = 4;

  // What the weights were made for.
  std::int32_t in_size = 0;
  std::int32_t out_size = 0;
  float in_begin = 0;
  float in_end = 0;
  Filter filter = Filter::kBilinear;

  std::int32_t groups = 0;           // groups of taps stored for every output position
  std::vector<std::int32_t> first;   // [out_size] first input position
  std::vector<std::int32_t> count;   // [out_size] taps, at most groups * kGroup
  std::vector<std::int32_t> weight;  // [out_size][groups][4]
  // The same weights as three signed bytes w = b0 + (b1 << 8) + (b2 << 16), for u8 x s8 dot
  // products: [out_size][groups][3] words, each the bytes of four taps. Empty unless they were
  // asked for.
  std::vector<std::uint32_t> bytes;
  // The same as w = low + (high << 12) for pairs of 16-bit products:
  // [out_size][groups][high01, low01, high23, low23]. Empty unless they were asked for.
  std::vector<std::uint32_t> pairs;
  // False when a weight does not fit `bytes` or `pairs`: only the scalar passes may be used.
  bool fits_simd = true;

  // One past the last input position of outputs [begin, end). REQUIRES: begin < end.
  [[nodiscard]] std::int32_t InputEnd(std::int32_t begin, std::int32_t end) const;
  // First input position of outputs [begin, end).
  [[nodiscard]] std::int32_t InputBegin(std::int32_t begin, std::int32_t end) const;

  // Makes the weights of out_size outputs over [in_begin, in_end) of in_size inputs, with the
  // layout of `level`. Reuses memory. REQUIRES: sizes above 0; filter is not kNearest.
  void Make(std::int32_t in_size, float in_begin, float in_end, std::int32_t out_size,
            Filter filter, SimdLevel level);
};

}  // namespace headrace::ops
