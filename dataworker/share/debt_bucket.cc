#include "dataworker/share/debt_bucket.h"

#include <algorithm>
#include <cmath>

namespace headrace::dataworker {

void DebtBucket::Fill(SteadyTime now) {
  const double passed = static_cast<double>((now - filled_).count());
  if (passed <= 0) return;
  filled_ = now;
  if (!limited()) return;
  if (level_ < 0) debt_ns_ += std::min(passed, -level_ / rate_);
  level_ = std::min(level_ + rate_ * passed, rate_ * burst_);
}

void DebtBucket::SetRate(std::uint64_t bytes_per_second, SteadyTime now) {
  Fill(now);
  rate_ = static_cast<double>(bytes_per_second) * 1e-9;
  // A change adds nothing, so a limit that comes and goes can't be used to bypass it.
  level_ = limited() ? std::min(level_, rate_ * burst_) : 0;
}

void DebtBucket::Take(double bytes, SteadyTime now) {
  if (!limited()) return;
  Fill(now);
  level_ = std::min(level_ - bytes, rate_ * burst_);
}

SteadyTime DebtBucket::ReadyAt(SteadyTime now) {
  if (!limited()) return now;
  Fill(now);
  if (level_ > -rate_) return now;  // less than a nanosecond is left, which is rounding
  const double wait = std::min(std::ceil(-level_ / rate_), static_cast<double>(kHorizon.count()));
  return filled_ + Duration(static_cast<Duration::rep>(wait));
}

Duration DebtBucket::InDebt(SteadyTime now) {
  Fill(now);
  return Duration(static_cast<Duration::rep>(std::llround(debt_ns_)));
}

}  // namespace headrace::dataworker
