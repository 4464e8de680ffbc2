#pragma once

#include <cstddef>
#include <cstdint>

// torchvision's kernels for float32 tensors, on float32 pixels in HWC (ops/vision/floats.h). Each
// operation rounds as torch's does. v1 (api 1) and v2 differ from each other.
namespace headrace::ops {

// torchvision's _blend(image, other, ratio): ratio * value + rest * other, cut to 0..1. v2 fuses
// the sum.
struct FloatBlend {
  float ratio = 1;
  float rest = 0;
  int api = 1;
};

// Maps a value by itself. Four numbers of each kind, one for each float of a pixel.
struct FloatStretch {
  float low[4];
  float scale[4];  // a factor in v1, a divisor in v2
  int api = 1;
};

// Values that follow one another.
struct FloatRun {
  float* data = nullptr;
  std::size_t count = 0;
};

struct GridJob;  // ops/vision/tensor/grid_kernels.h

// The parts of the operators, for one instruction set. All give the same bits. Where they return
// false, an element or a result is no number, and the bits of the rest are not torch's.
struct FloatKernels {
  // Cuts ratio * value to 0..1.
  void (*scale)(const FloatRun& values, float ratio);
  // Blends each value with one number.
  void (*blend)(const FloatRun& values, const FloatBlend& blend, float other);
  void (*invert)(const FloatRun& values);
  // Inverts values from `threshold` on.
  void (*solarize)(const FloatRun& values, float threshold);
  // Keeps this many levels.
  void (*posterize)(const FloatRun& values, float levels);
  // The least and the greatest of every fourth value. REQUIRES: they are numbers.
  void (*bounds)(const float* values, std::size_t count, float* least, float* most);
  void (*stretch)(const FloatRun& values, const FloatStretch& stretch);

  // Blends each value with the one of `others` at its place. `sharpen` adds in v2 a part of the
  // difference, fused.
  void (*sharpen)(const FloatRun& values, const float* others, const FloatBlend& blend);
  // Whether the channels of these values are finite; `lanes`: 0 for a float that is no channel.
  bool (*finite)(const float* values, std::size_t count, const float* lanes);

  // The gray of each of so many colour pixels, one float each.
  bool (*gray)(const float* pixels, std::size_t count, int api, float* out);
  // The values of colour pixels, four floats each, changed in place.
  bool (*blend_with_gray)(const FloatRun& pixels, const FloatBlend& blend);
  bool (*turn_hue)(const FloatRun& pixels, float factor, int api);
  // Samples an image of float32 at a grid.
  void (*sample)(const GridJob& job, float* out);
};

extern const FloatKernels kScalarFloats;
#if defined(__x86_64__)
extern const FloatKernels kAvx2Floats;  // with FMA
#endif

// Says which of value, p, q and t is red, green or blue in each sixth of the circle of hues, as
// kTensorPlaces does.
inline constexpr std::int32_t kFloatPlaces[3][8] = {
    {0, 2, 1, 1, 3, 0, 0, 0}, {3, 0, 0, 2, 1, 1, 3, 3}, {1, 1, 3, 0, 0, 2, 1, 1}};

}  // namespace headrace::ops
