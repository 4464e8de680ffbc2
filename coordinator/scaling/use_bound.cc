#include "coordinator/scaling/use_bound.h"

#include <algorithm>

#include "coordinator/estimate/estimator.h"

namespace headrace::coordinator {
namespace {

constexpr double kNearlyAll = 0.8;
// Reports of workers and of clients do not come at the same moment. So means of so many points count.
constexpr std::size_t kSmooth = 3;

}  // namespace

void UseBound::Add(double used, double granted, bool lacks, bool other, double queued) {
  points_.push_back({used, granted, lacks, other, queued});
  if (points_.size() > kPoints) points_.pop_front();
}

double UseBound::Most() const {
  double most = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].other || points_[i].used <= 0) return kUnlimited;
    const std::size_t first = i + 1 < kSmooth ? 0 : i + 1 - kSmooth;
    double used = 0, granted = 0, queued = 0;
    for (std::size_t k = first; k <= i; ++k) {
      used += points_[k].used;
      granted += points_[k].granted;
      queued += points_[k].queued;
    }
    const auto count = static_cast<double>(i + 1 - first);
    // What it was granted is all that it could have used.
    const bool held_back =
        points_[i].lacks && i + 1 >= kSmooth && queued >= kNearlyAll * static_cast<double>(kSmooth);
    if (held_back) used = std::max(used, granted);
    const bool all_used = points_[i].lacks && used >= kNearlyAll * granted;
    const double factor = all_used ? kAllUsed : kIdle;
    most = std::max(most, factor * used / count);
  }
  return points_.empty() ? kUnlimited : most;
}

}  // namespace headrace::coordinator
