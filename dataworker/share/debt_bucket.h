#pragma once

#include <cstdint>

#include "base/clock.h"

namespace headrace::dataworker {

// A limit of bytes a second on reads whose sizes are known only when they are done. What is read is
// taken whole, so the bucket may go into debt; nothing may begin until the debt is paid. In any
// stretch of time t, then, no more is read than
//
//   rate * t  +  kBurst of the rate  +  what the reads take that were under way at once,
//
// and who always has something to read reads at the full rate. Pure; thread-compatible.
class DebtBucket {
 public:
  // Saved up, at most, while nobody reads; also what a late timer may cost.
  static constexpr Duration kBurst = std::chrono::milliseconds(100);
  // Farther ahead ReadyAt does not say: ask again then.
  static constexpr Duration kHorizon = std::chrono::hours(1);

  // 0: no limit. A debt stays with the new rate.
  void SetRate(std::uint64_t bytes_per_second, SteadyTime now);
  [[nodiscard]] bool limited() const { return rate_ > 0; }
  // Below 0: gives back what was taken too much.
  void Take(double bytes, SteadyTime now);
  // When the debt is paid: not behind `now` if there is none.
  [[nodiscard]] SteadyTime ReadyAt(SteadyTime now);
  // How long it has been in debt, in all.
  [[nodiscard]] Duration InDebt(SteadyTime now);

 private:
  void Fill(SteadyTime now);

  double rate_ = 0;   // bytes a nanosecond; 0: no limit
  double level_ = 0;  // bytes; below 0: debt
  SteadyTime filled_{};
  double debt_ns_ = 0;
};

}  // namespace headrace::dataworker
