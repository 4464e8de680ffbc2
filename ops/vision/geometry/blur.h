#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "ops/vision/image.h"

// What schemas check of a blur by torch's conv2d. Its sums are in ops/vision/tensor/convolve.h.
namespace headrace::ops {

inline constexpr std::size_t kMostBlurWeights = 255;  // of a side

// kUnsupported: the border is longer than the side, or torch sums images of this size in another
// order. REQUIRES: columns and rows of weights are odd.
Status CheckBlur(const ImageSpec& image, std::int64_t columns, std::int64_t rows);

// Whether these are the weights of one side: none is negative, and their sum is near 1, so that no
// blurred value is far outside of the range of the values.
[[nodiscard]] bool AreBlurWeights(std::span<const float> weights);

}  // namespace headrace::ops
