#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/opencv/pixels.h"

namespace headrace::images {

// cv::resize of 8-bit pixels of three channels, with OpenCV's bits (4.6 to 5.0 agree). `out` has
// height * width pixels without gaps. REQUIRES: HasKernels(), sizes of 1 to 32767, in.stride >= 3 *
// in.width. Thread-safe.
//
// Both return false, with `out` untouched, for what OpenCV has other code for: the same size, and
// sizes of which both axes divide by whole numbers. So they do for pictures one pixel wide.

// INTER_LINEAR: fixed point with 11 bits, without antialiasing.
bool ResizeLinear(const Pixels& in, std::ptrdiff_t height, std::ptrdiff_t width, std::uint8_t* out);

// INTER_AREA: means of areas, in sums of float32 whose order is fixed. Also false if an axis grows.
bool ResizeArea(const Pixels& in, std::ptrdiff_t height, std::ptrdiff_t width, std::uint8_t* out);

}  // namespace headrace::images
