#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace headrace::coordinator {

// When a pool that could not grow is asked again, and what people are told. The coordinator finds
// every second anew that the jobs want workers; what can't be started now can't in a second
// either, most likely. Thread-compatible; a value.
//
//   failed  asked again after kFirstPause, doubling up to kLongestPause; each cause is said once
//   came    said if a failure was; from then on as at first
//
// That a pool took members on means nothing yet: an engine says seconds later that it has no room.
class PoolGrowth {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(60);

  [[nodiscard]] bool MayTry(SteadyTime now) const { return now >= next_; }
  // Pool::Grow or PoolEvents::on_failed said `why`. The line to log; empty: it was said before.
  [[nodiscard]] std::string Failed(const Status& why, SteadyTime now);
  // A member has registered. The line to log; empty: none.
  [[nodiscard]] std::string Came();

 private:
  int failures_ = 0;  // in a row
  std::string said_;  // the last cause
  SteadyTime next_ = SteadyTime::min();
};

}  // namespace headrace::coordinator
