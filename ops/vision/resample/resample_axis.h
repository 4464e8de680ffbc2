#pragma once

#include <cstdint>
#include <vector>

#include "ops/vision/resample/resample_weights.h"

namespace headrace::ops {

// The weights of one axis of a resize, in the form that the passes use. They are floats, or
// fixed-point numbers as libImaging's normalize_coeffs_8bpc and torch's
// _compute_index_ranges_int16_weights make them. Sources: Pillow Resample.c, torch
// UpSampleKernel.cpp.
struct ResampleAxis {
  static constexpr int kGroup = Weights<double>::kGroup;
  static constexpr int kPillowBits = 22;
  static constexpr int kLowPartBits = 12;  // low bits of a weight that a pair splits into two parts

  // The axis for which the weights were made.
  AxisSpec spec;

  // Fractional bits of the weights. Pillow's have kPillowBits: 8 bits for the value and 2 for
  // overflow stay free in int32. torch's have as many as still leave the largest weight in int16.
  int precision_bits = 0;
  std::int32_t groups = 0;           // groups of taps stored for every output position
  std::vector<std::int32_t> first;   // [out_size] first input position
  std::vector<std::int32_t> count;   // [out_size] taps, at most groups * kGroup
  std::vector<std::int32_t> weight;  // [out_size][groups][4], zero past count[i]
  // Where HasFloatWeights: these instead.
  std::vector<float> factor;

  // Number of parts of each weight in `bytes` and `pairs`. Of these, a form that was not asked for
  // is empty.
  int parts = 0;
  // The weights as signed bytes w = b0 + (b1 << 8) + ..., for u8 x s8 dot products:
  // [out_size][groups][parts] words, each the bytes of four taps.
  std::vector<std::uint32_t> bytes;
  // The same for pairs of 16-bit products. One part: the weight; two: w = low + (high <<
  // kLowPartBits). [out_size][groups][high01, low01, high23, low23].
  std::vector<std::uint32_t> pairs;
  // False when a weight does not fit `bytes` or `pairs`: only the scalar passes may be used.
  bool fits_simd = true;

  // One past the last input position for outputs [begin, end). REQUIRES: begin < end.
  [[nodiscard]] std::int32_t InputEnd(std::int32_t begin, std::int32_t end) const;
  // The first input position for outputs [begin, end).
  [[nodiscard]] std::int32_t InputBegin(std::int32_t begin, std::int32_t end) const;

  // Makes the weights with the layout for `level`. Reuses memory.
  void Make(const AxisSpec& axis, SimdLevel level);

 private:
  void MakeFixed(SimdLevel level);

  Weights<double> exact_;  // the last axis
  Weights<float> floats_;
};

}  // namespace headrace::ops
