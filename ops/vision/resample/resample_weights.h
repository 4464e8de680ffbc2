#pragma once

#include <cstdint>
#include <vector>

#include "ops/vision/resample/resample.h"

namespace headrace::ops {

// Whether torch computes the weights in float.
[[nodiscard]] constexpr bool HasFloatWeights(ResizeArithmetic arithmetic) {
  return arithmetic == ResizeArithmetic::kTorchFloats || arithmetic == ResizeArithmetic::kFloats;
}

// What the weights of one axis of a resize depend on.
struct AxisSpec {
  std::int32_t in_size = 0, out_size = 0;  // pixels, above 0
  float in_begin = 0,
        in_end = 0;  // the part of the input that is resized; less than all for Pillow only
  Filter filter = Filter::kBilinear;  // none of the nearest ones
  ResizeArithmetic arithmetic = ResizeArithmetic::kPillow;
  bool antialias = true;
  friend bool operator==(const AxisSpec&, const AxisSpec&) = default;
};

// The inputs of every output position of an axis. T is the type in which the framework computes
// weights: double, or float where HasFloatWeights.
template <typename T>
struct Weights {
  // Number of taps in a stored group; weights past count[i] are zero.
  static constexpr int kGroup = 4;

  std::int32_t groups = 0;          // groups of taps stored for every output position
  std::vector<std::int32_t> first;  // [out_size] first input position
  std::vector<std::int32_t> count;  // [out_size] taps, at most groups * kGroup
  std::vector<T> weight;            // [out_size][groups][kGroup]
  T largest = 0;                    // weight, also of those before the last was added to the edge's

  // Reuses memory.
  void Make(const AxisSpec& spec);
};

extern template struct Weights<double>;
extern template struct Weights<float>;

}  // namespace headrace::ops
