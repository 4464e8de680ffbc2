#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>

#include "coordinator/steady.h"

// From what a policy gives of the source to limits of workers. Their sum never exceeds what there is.
// Pure.
namespace headrace::coordinator {

// Makes those of the rates for which `counts` smaller, in proportion, where their sum exceeds `most`,
// bytes/s. What jobs may read to show their need comes on top of what the policy divided, so the others
// give a part for it.
inline void FitSource(std::span<double> rates, double most,
                      const std::function<bool(std::size_t)>& counts) {
  double sum = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (counts(i)) sum += rates[i];
  }
  if (!std::isfinite(most) || sum <= most) return;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (counts(i)) rates[i] *= most / sum;
  }
}

// The limit of a worker that may have `most` bytes/s, at least 1: `held`, if that is no more and at most
// 2% less. A new one is 1% less, so that it holds while `most` wobbles.
[[nodiscard]] inline std::uint64_t SteadyBelow(double most, std::uint64_t held) {
  const auto old = static_cast<double>(held);
  if (old <= most && old >= most * (1 - kWobble)) return held;
  return static_cast<std::uint64_t>(std::max(1.0, most * (1 - kWobble / 2)));
}

}  // namespace headrace::coordinator
