#pragma once

#include <span>
#include <vector>

namespace headrace::coordinator {

// Divides `total` of something max-min fairly among those that want some of it: who wants less than an
// equal part has what it wants, and the others have equal parts of what is left. In the order of `wanted`.
// The parts add up to the lesser of `total` and of all that is wanted. Amounts may be kUnlimited; negative
// ones count as 0. Pure. O(n log n).
[[nodiscard]] std::vector<double> FairParts(double total, std::span<const double> wanted);

}  // namespace headrace::coordinator
