#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/vision/opencv/pixels.h"

namespace headrace::images {

// How pixels of three channels are copied. They may be taken from right to left, and their channels
// from the last to the first. A `planar` result has three planes of height * width bytes, and a
// result that is not planar has pixels without gaps.
struct Order {
  bool planar, mirrored, reversed;
};

// REQUIRES: HasKernels(); in.data is the byte with the lowest address of the first row; out has 3 *
// height * width bytes. Thread-safe.
void CopyPixels(const Pixels& in, const Order& order, std::uint8_t* out);

}  // namespace headrace::images
