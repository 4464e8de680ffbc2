#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "net/reactor.h"

namespace headrace::client {

// Calls once, at the earliest of the times for which it was armed since the last call. An extra
// call does no harm, so a void time is not taken back. Reactor thread.
class DeadlineTimer {
 public:
  // `reactor` outlives this. The owner calls Cancel before the end.
  DeadlineTimer(net::Reactor& reactor, std::function<void()> call)
      : reactor_(reactor), call_(std::move(call)) {}

  void Arm(SteadyTime at, SteadyTime now) {
    if (timer_ != 0 && at_ <= at) return;
    Cancel();
    at_ = at;
    timer_ = reactor_.AddOnce(std::max<Duration>(at - now, std::chrono::milliseconds(1)), [this] {
      timer_ = 0;
      call_();
    });
  }
  void Cancel() {
    if (timer_ != 0) reactor_.CancelTimer(std::exchange(timer_, 0));
  }

 private:
  net::Reactor& reactor_;
  std::function<void()> call_;
  net::TimerId timer_ = 0;  // 0: none
  SteadyTime at_{};
};

}  // namespace headrace::client
