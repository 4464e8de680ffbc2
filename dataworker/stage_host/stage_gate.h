#pragma once

#include <span>

#include "base/clock.h"

namespace headrace::dataworker {

// How many stage processes of a session may run batches at the same time while other jobs want the
// worker's cores: as many as keep the session's part of them busy, and at least one. What a process
// keeps busy is measured, so that code which waits for a network or a lock is not held to a number
// of processes, and lanes that wait for each other all come to run. Pure; thread-compatible.
class StageGate {
 public:
  struct Running {
    Duration wall{};  // since its batch began
    Duration cpu{};   // that its process has used for it
  };
  // A batch of this age says itself how busy its process is; a younger one counts as the mean.
  static constexpr Duration kTelling = std::chrono::milliseconds(100);

  // `cores`: of the session; half a core is rounded up.
  [[nodiscard]] bool MayBegin(std::span<const Running> running, double cores) const {
    if (running.empty()) return true;
    double busy = busy_;
    for (const Running& batch : running) busy += batch.wall < kTelling ? busy_ : Busy(batch);
    return busy <= cores + 0.5;
  }
  void Ended(const Running& batch) {
    if (batch.wall > Duration(0)) busy_ += (Busy(batch) - busy_) / 8;
  }
  // Cores that a process keeps busy in a batch, a running mean.
  [[nodiscard]] double busy() const { return busy_; }

 private:
  static double Busy(const Running& batch) {
    return static_cast<double>(batch.cpu.count()) / static_cast<double>(batch.wall.count());
  }
  double busy_ = 1;
};

}  // namespace headrace::dataworker
