#pragma once

#include <cstdint>

#include "base/clock.h"

namespace headrace::client {

// Divides the trainer's time into waiting for data and everything else. Thread-compatible.
class StallMeter {
 public:
  // A new iteration: the time since the last batch was no step.
  void Restart() { running_ = false; }
  void EnterNext(SteadyTime now) {
    if (running_) step_ += now - left_;
    entered_ = now;
  }
  void LeaveNext(SteadyTime now) {
    stall_ += now - entered_;
    left_ = now;
    running_ = true;
  }
  [[nodiscard]] std::uint64_t stall_ns() const {
    return static_cast<std::uint64_t>(stall_.count());
  }
  [[nodiscard]] std::uint64_t step_ns() const { return static_cast<std::uint64_t>(step_.count()); }

 private:
  bool running_ = false;
  SteadyTime entered_{}, left_{};
  Duration stall_{}, step_{};
};

}  // namespace headrace::client
