#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "net/reactor.h"

namespace headrace::net {

// The timers of one reactor, in order of due time. Pure but for the clock. One thread.
class TimerQueue {
 public:
  explicit TimerQueue(Clock& clock) : clock_(clock) {}

  // `interval` zero: runs once.
  TimerId Add(Duration delay, Duration interval, std::function<void()> callback);
  void Cancel(TimerId timer);
  // Runs what is due now. Timers that callbacks add wait for the next call, callbacks may cancel
  // any.
  void RunDue();
  // Time until the next is due (zero: overdue); nullopt: none.
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
