#include "coordinator/scaling/recent_periods.h"

#include <algorithm>
#include <cmath>

namespace headrace::coordinator {
namespace {

constexpr double kSame = 0.1;  // relative
// A trainer with another speed by this factor, in so many periods, is another one for what is said.
constexpr double kChange = 4;
constexpr std::size_t kOfChange = 3;
constexpr double kSameCores = 0.02;  // shares are rounded

void AddTo(PeriodSum& sum, const PeriodSum& more) {
  sum.times += more.times;
  sum.samples += more.samples;
  sum.hits += more.hits;
  sum.reads += more.reads;
}

// Whether a job does something else since the last few periods.
bool HasChanged(const std::deque<PeriodSum>& periods) {
  if (periods.size() < 2 * kOfChange) return false;
  PeriodSum before, since;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    AddTo(i + kOfChange < periods.size() ? before : since, periods[i]);
  }
  const double old = before.ready_rate(), now = since.ready_rate();
  return std::max(old, now) > kChange * std::min(old, now);
}

}  // namespace

bool RecentPeriods::AboutTheSame(double a, double b) {
  return std::abs(a - b) <= std::max(kSameCores, kSame * std::max(a, b));
}

void RecentPeriods::Add(const PeriodSum& period, double granted_cores) {
  if (!periods_.empty() && !AboutTheSame(granted_cores, granted_)) periods_.clear();
  if (periods_.empty()) granted_ = granted_cores;
  periods_.push_back(period);
  if (periods_.size() > kMost) periods_.pop_front();
  if (HasChanged(periods_)) periods_.erase(periods_.begin(), periods_.end() - kOfChange);
}

bool RecentPeriods::Tell(double granted_cores) const {
  return periods_.size() >= kLeast && AboutTheSame(granted_cores, granted_);
}

PeriodSum RecentPeriods::Sum() const {
  PeriodSum sum;
  for (const PeriodSum& period : periods_) AddTo(sum, period);
  return sum;
}

double RecentPeriods::Error() const {
  // The trainer's speed, and that of the cores.
  double error = 0;
  for (const auto speed : {&PeriodSum::ready_rate, &PeriodSum::rate}) {
    double sum = 0, squares = 0;
    for (const PeriodSum& period : periods_) {
      sum += (period.*speed)();
      squares += (period.*speed)() * (period.*speed)();
    }
    const auto count = static_cast<double>(periods_.size());
    if (sum > 0)
      error += std::max(0.0, squares / count / (sum / count) / (sum / count) - 1) / count;
  }
  return std::sqrt(error);
}

std::vector<PeriodSum> RecentPeriods::Parts() const {
  std::vector<PeriodSum> parts(kParts);
  for (std::size_t i = 0; i < periods_.size(); ++i) {
    AddTo(parts[i * kParts / periods_.size()], periods_[i]);
  }
  return parts;
}

}  // namespace headrace::coordinator
