#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::ops {

// The filter types of PNG, as the first byte of a row names them.
inline constexpr std::uint8_t kPngFilters = 5;

// Takes the filter back from the first `pixels` pixels of a row.
//   in     the row after its filter byte, `unit` bytes a pixel (a byte, if pixels are smaller)
//   above  the row above as this function made it; zeros above the first row of a pass
//   out    the result; `step` bytes lie from one pixel to the next, in `above` too
// Up to 8 bytes past the last pixel are read, and up to 8 past that of `out` are written.
// REQUIRES: filter < kPngFilters; (unit, step) is (n, n) for n in 1, 2, 3, 4, 6, 8, or (3, 4).
void Unfilter(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above,
              std::size_t pixels, std::size_t unit, std::size_t step, std::uint8_t* out);

// Paeth's predictor of PNG: that of `left`, `up` and `corner` which is nearest to
// left + up - corner, the first of them if several are. It needs no absolute values: with
// t = 3 corner - left - up, corner is nearest where t lies between the other two, and else the one
// of them that t points away from (the test tries all values).
[[nodiscard]] constexpr int Paeth(int left, int up, int corner) {
  const int low = left < up ? left : up;
  const int high = left < up ? up : left;
  const int t = 3 * corner - left - up;
  if (t <= low) return high;
  return high <= t ? low : corner;
}

}  // namespace headrace::ops
