#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "net/reactor.h"

namespace headrace::net {

// The timers of one reactor, ordered by due time. Pure except for the clock. One thread.
class TimerQueue {
 public:
  explicit TimerQueue(Clock& clock) : clock_(clock) {}

  // If `interval` is zero, the timer runs once.
  TimerId Add(Duration delay, Duration interval, std::function<void()> callback);
  void Cancel(TimerId timer);
  // Runs the timers that are due now. Timers that callbacks add wait for the next call. Callbacks
  // may cancel any timer.
  void RunDue();
  // Time until the next timer is due (zero: overdue); nullopt: no timers.
  [[nodiscard]] std::optional<Duration> UntilNext() const;

 private:
  struct Timer {
    SteadyTime due;
    Duration interval;
    std::function<void()> callback;
  };

  Clock& clock_;
  TimerId last_id_ = 0;
  std::unordered_map<TimerId, Timer> timers_;
  std::map<std::pair<SteadyTime, TimerId>, TimerId> order_;
};

}  // namespace headrace::net
