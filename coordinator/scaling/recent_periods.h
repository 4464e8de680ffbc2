#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "coordinator/scaling/time_shares.h"

namespace headrace::coordinator {

// Periods of a job, or their sum.
struct PeriodSum {
  TimeShares times;
  double samples = 0;
  double hits = 0, reads = 0;  // samples
  // Samples/s that were delivered, and with data always ready; 0: not known.
  [[nodiscard]] double rate() const { return times.all() > 0 ? samples / times.all() : 0; }
  [[nodiscard]] double ready_rate() const { return times.step > 0 ? samples / times.step : 0; }
  [[nodiscard]] double hit() const { return reads > 0 ? hits / reads : 0; }
};

// The last periods of a job in which it was granted about the same: what people are told of it. One
// period alone says another thing each second. After its grant has changed, the periods before say
// nothing about what would help now. Thread-compatible; a value.
class RecentPeriods {
 public:
  static constexpr std::size_t kMost = 20;
  static constexpr std::size_t kLeast = 5;  // fewer say nothing
  static constexpr std::size_t kParts = 3;

  void Add(const PeriodSum& period, double granted_cores);
  // False: they say nothing about a job with so many cores.
  [[nodiscard]] bool Tell(double granted_cores) const;
  [[nodiscard]] PeriodSum Sum() const;
  // Standard error of what the sum says of the need, relative: periods that differ say little. 0 if
  // they are all alike.
  [[nodiscard]] double Error() const;
  // kParts stretches one after the other. If they differ, the job changes.
  [[nodiscard]] std::vector<PeriodSum> Parts() const;

 private:
  static bool AboutTheSame(double a, double b);

  std::deque<PeriodSum> periods_;  // the newest last
  double granted_ = 0;             // cores, in the first of them
};

}  // namespace headrace::coordinator
