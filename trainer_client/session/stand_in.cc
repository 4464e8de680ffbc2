#include "trainer_client/session/stand_in.h"

#include <optional>

namespace headrace::client {

void StandIn::Go(const std::function<void()>& take_planned) {
  if (!on_) return;
  // A size that is not known decides what is drawn after it, so the trainer makes that sample first.
  (void)parts_.size_requests.Collect();
  do {
    for (const std::int64_t key : parts_.size_requests.TakeWaiting()) {
      parts_.planner.Described(key, std::nullopt);
      unread_.push_back(key);
    }
    take_planned();
  } while (parts_.size_requests.Collect());
  for (const std::int64_t ticket : parts_.book.Pending()) {
    parts_.dispatcher.Remove(ticket);
    parts_.answers.LeaveToTrainer(ticket, Unavailable("no data worker serves this job"));
  }
}

void StandIn::End() {
  on_ = false;
  for (const std::int64_t key : unread_) parts_.planner.SizeChanged(key);
  unread_.clear();
}

}  // namespace headrace::client
