#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/pil/enhance_kernels.h"

namespace headrace::ops {

// torchvision's _blend(image, other, ratio) of tensors: ratio * value + rest * other.
struct TensorBlend {
  float ratio = 1;
  float rest = 0;
  int api = 1;
};

// The rows above and below of a row of packed pixels.
struct RowAndNext {
  const std::uint8_t* above = nullptr;
  const std::uint8_t* row = nullptr;
  const std::uint8_t* below = nullptr;
};

// The parts of torchvision's kernels for u8 tensors, for one instruction set. All give the same
// bits.
struct TensorKernels {
  // Computes rgb_to_grayscale of each pixel.
  void (*gray)(const std::uint8_t* data, std::size_t pixels, std::size_t pixel_stride, int api,
               std::uint8_t* out);
  // Blends each pixel with its gray.
  void (*blend_with_gray)(const PixelRun& run, const TensorBlend& blend);
  // Computes adjust_hue of each pixel.
  void (*turn_hue)(const PixelRun& run, float factor, int api);
  // Computes adjust_sharpness of the values [first, end) of a row.
  void (*sharpen)(const RowAndNext& rows, std::size_t channels, std::size_t first, std::size_t end,
                  const TensorBlend& blend, std::uint8_t* out);
};

extern const TensorKernels kScalarTensor;
#if defined(__x86_64__)
extern const TensorKernels kAvx2Tensor;  // with FMA
#endif

// Says which of value, p, q and t are red, green and blue in each sixth of the circle of hues. A
// hue of 1 has its own sixth, which equals the first. Source: torchvision's _hsv2rgb.
inline constexpr std::uint8_t kTensorPlaces[8][4] = {{0, 3, 1, 3}, {2, 0, 1, 3}, {1, 0, 3, 3},
                                                     {1, 2, 0, 3}, {3, 1, 0, 3}, {0, 1, 2, 3},
                                                     {0, 3, 1, 3}, {0, 3, 1, 3}};
// Factor that turns a float of 0..1 into a byte.
inline constexpr float kToBytes = static_cast<float>(255.0 + 1.0 - 1e-3);

}  // namespace headrace::ops
