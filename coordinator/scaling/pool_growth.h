#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace headrace::coordinator {

// Decides when a pool that could not grow is asked again, and what people are told. Every second
// the coordinator finds that the jobs still want workers. A pool that can't start them now most
// likely can't in a second either. Thread-compatible; a value.
//
//   failed  asked again after kFirstPause, doubling up to kLongestPause; each cause is said once
//   came    said if a failure was; from then on as at first, unless a failure follows within
//           kHealthyAfter: members that come and end at once are no success
//
// A successful Grow means nothing yet: an engine may say seconds later that it has no room.
class PoolGrowth {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(60);
  static constexpr Duration kHealthyAfter = std::chrono::seconds(30);

  [[nodiscard]] bool MayTry(SteadyTime now) const { return now >= next_; }
  // When it may; a time in the past: now.
  [[nodiscard]] SteadyTime next() const { return next_; }
  // Takes `why` from Pool::Grow or PoolEvents::on_failed. Returns the line to log; empty: it was
  // said before.
  [[nodiscard]] std::string Failed(const Status& why, SteadyTime now);
  // A member has registered. Returns the line to log; empty: none.
  [[nodiscard]] std::string Came(SteadyTime now);

 private:
  int failures_ = 0;  // in a row
  std::string said_;  // the last cause
  // Before a member came, at came_.
  int failures_before_ = 0;
  std::string said_before_;
  SteadyTime came_ = SteadyTime::min();
  SteadyTime next_ = SteadyTime::min();
};

}  // namespace headrace::coordinator
