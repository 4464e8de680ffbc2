#include <algorithm>
#include <vector>

#include "net/timer_queue_internal.h"

namespace headrace::net {

TimerId TimerQueue::Add(Duration delay, Duration interval, std::function<void()> callback) {
  const TimerId id = ++last_id_;
  const SteadyTime due = clock_.Now() + delay;
  timers_.emplace(id, Timer{due, interval, std::move(callback)});
  order_.emplace(std::pair(due, id), id);
  return id;
}

void TimerQueue::Cancel(TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  order_.erase({found->second.due, timer});
  timers_.erase(found);
}

void TimerQueue::RunDue() {
  const SteadyTime now = clock_.Now();
  std::vector<TimerId> due;
  for (const auto& [key, id] : order_) {
    if (key.first > now) break;
    due.push_back(id);
  }
  for (const TimerId id : due) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) continue;  // cancelled by an earlier callback
    const Duration interval = found->second.interval;
    std::function<void()> callback = std::move(found->second.callback);
    order_.erase({found->second.due, id});
    if (interval == Duration::zero()) timers_.erase(found);
    callback();
    if (interval == Duration::zero()) continue;
    const auto again = timers_.find(id);
    if (again == timers_.end()) continue;  // cancelled itself
    again->second.callback = std::move(callback);
    again->second.due = clock_.Now() + interval;
    order_.emplace(std::pair(again->second.due, id), id);
  }
}

std::optional<Duration> TimerQueue::UntilNext() const {
  if (order_.empty()) return std::nullopt;
  return std::max(Duration::zero(), order_.begin()->first.first - clock_.Now());
}

}  // namespace headrace::net
