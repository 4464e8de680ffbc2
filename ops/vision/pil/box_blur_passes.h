#pragma once

#include <algorithm>

#include "ops/vision/pil/box_blur_kernels.h"

// The order of PIL's sums, whatever adds them up. Included by the kernels of each instruction set.
namespace headrace::ops {

// Calls begin(n, times) for what the sum holds before the first value, and then, for each value,
// step(n, left, right, add, subtract): `add` joins the sum and `subtract` leaves it; `left` and
// `right` are at the box's ends. All are numbers of values; past an end, the last one counts.
template <typename Begin, typename Step>
inline void BoxPass(std::int64_t count, std::int64_t radius, Begin begin, Step step) {
  const std::int64_t last = count - 1, edge = std::min(radius + 1, count);
  begin(0, static_cast<std::uint32_t>(radius + 1));
  for (std::int64_t n = 0; n < edge - 1; ++n) begin(n, 1);
  begin(last, static_cast<std::uint32_t>(radius - edge + 1));
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t left = std::max<std::int64_t>(n - radius - 1, 0);
    step(n, left, std::min(n + radius + 1, last), std::min(n + radius, last), left);
  }
}

}  // namespace headrace::ops
