#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/vision/opencv/pixels.h"

namespace headrace::images {

// What stands for pixels outside of the source, by OpenCV's names.
enum class Border : std::uint8_t { kConstant, kReplicate, kReflect, kReflect101 };

struct Warp {
  // Source from result, (x, y) to (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]).
  std::array<double, 6> matrix;
  Border border;
  std::array<std::uint8_t, 3> outside;  // for kConstant
};

// OpenCV's inversion of a matrix in which a result is made from the source, as it rounds.
std::array<double, 6> Inverted(const std::array<double, 6>& matrix);

// cv::warpAffine with INTER_LINEAR of 8-bit pixels of three channels, with the bits of OpenCV 5.0
// (4.x computes in fixed point). `out` has height * width pixels without gaps. REQUIRES:
// HasKernels(), sizes of 1 to 32767, in.stride >= 3 * in.width. Thread-safe.
//
// Returns false, with `out` untouched, if width is no multiple of 16, because OpenCV makes the rest
// of a row in another way, if the matrix leads further away than 2^20 pixels, or if the source has
// more than 1 GiB.
bool WarpLinear(const Pixels& in, const Warp& warp, std::ptrdiff_t height, std::ptrdiff_t width,
                std::uint8_t* out);

}  // namespace headrace::images
