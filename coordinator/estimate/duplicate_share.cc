#include "coordinator/estimate/duplicate_share.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace headrace::coordinator {

DuplicateShare DuplicatesOf(std::span<const NameSample> samples) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t below = kAll;
  for (const NameSample& each : samples) below = std::min(below, each.below);
  std::map<std::uint64_t, std::uint64_t> copies;
  DuplicateShare found;
  for (const NameSample& each : samples) {
    for (const std::uint64_t name : each.names) {
      if (name >= below) continue;
      ++copies[name];
      ++found.sampled;
    }
  }
  if (found.sampled == 0) return found;
  const auto all = static_cast<double>(found.sampled);
  const double distinct = static_cast<double>(copies.size()) / all;
  found.share = 1 - distinct;
  if (below == kAll) return found;
  double squares = 1;
  for (const auto& [name, count] : copies) {
    squares += std::pow(1 - static_cast<double>(count) * distinct, 2);
  }
  const double part = static_cast<double>(below) / static_cast<double>(kAll);
  found.error = std::sqrt((1 - part) * squares) / all;
  return found;
}

}  // namespace headrace::coordinator
