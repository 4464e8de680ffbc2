#pragma once

#include <cstdint>

#if defined(__x86_64__)
namespace headrace::ops {

// Sums of affine.cc for a pixel of three channels, all at once, for CPUs with AVX2. Each step is rounded
// as there, so the bits are the same. Each pixel is 4 readable bytes; the last one does not matter.
// Writes three bytes.

// a + (b - a) * dx above, the same of c and d below, and between the two by dy.
void BilinearAvx2(const std::uint8_t* const corners[4], double dx, double dy, std::uint8_t* out);

// The cubic along each row, pixels[row][column], and then along the four results.
void BicubicAvx2(const std::uint8_t* const pixels[4][4], double dx, double dy, std::uint8_t* out);

}  // namespace headrace::ops
#endif
