#include "coordinator/estimate/fair_parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace headrace::coordinator {

std::vector<double> FairParts(double total, std::span<const double> wanted) {
  std::vector<double> parts(wanted.size());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = std::max(0.0, wanted[i]);
  if (std::isinf(total)) return parts;
  std::vector<std::size_t> rising(parts.size());
  std::iota(rising.begin(), rising.end(), std::size_t{0});
  std::ranges::stable_sort(rising, {}, [&](std::size_t i) { return parts[i]; });
  double left = std::max(0.0, total);
  for (std::size_t k = 0; k < rising.size(); ++k) {
    double& part = parts[rising[k]];
    part = std::min(part, left / static_cast<double>(rising.size() - k));
    left = std::max(0.0, left - part);
  }
  return parts;
}

}  // namespace headrace::coordinator
