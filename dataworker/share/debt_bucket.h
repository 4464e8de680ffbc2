#pragma once

#include <cstdint>

#include "base/clock.h"

namespace headrace::dataworker {

// Limits bytes a second of reads whose sizes are known only when they are done. A read is taken
// whole, so the bucket may go into debt. Nothing may begin until the debt is paid. So in any
// stretch of time t, no more is read than
//
//   rate * t  +  the burst's part of the rate  +  what the reads take that were under way at once,
//
// and a reader that always has something to read gets the full rate. Pure; thread-compatible.
class DebtBucket {
 public:
  // The most that is saved up while nobody reads, unless somebody says otherwise; also how late a timer
  // may be at no cost.
  static constexpr Duration kBurst = std::chrono::milliseconds(100);
  // ReadyAt looks no farther ahead; the caller asks again then.
  static constexpr Duration kHorizon = std::chrono::hours(1);

  explicit DebtBucket(Duration burst = kBurst) : burst_(static_cast<double>(burst.count())) {}

  // Sets the rate; 0: no limit. A debt stays with the new rate.
  void SetRate(std::uint64_t bytes_per_second, SteadyTime now);
  [[nodiscard]] bool limited() const { return rate_ > 0; }
  // Takes bytes; below 0: gives back what was taken in excess.
  void Take(double bytes, SteadyTime now);
  // When the debt is paid: not after `now` if there is none.
  [[nodiscard]] SteadyTime ReadyAt(SteadyTime now);
  // How long it has been in debt in total.
  [[nodiscard]] Duration InDebt(SteadyTime now);

 private:
  void Fill(SteadyTime now);

  const double burst_;  // ns
  double rate_ = 0;     // bytes a nanosecond; 0: no limit
  double level_ = 0;    // bytes; below 0: debt
  SteadyTime filled_{};
  double debt_ns_ = 0;
};

}  // namespace headrace::dataworker
