#pragma once

#include <span>

#include "base/clock.h"

namespace headrace::dataworker {

// Decides when a batch of a session's stage processes may begin while other jobs want the worker's
// cores too. It keeps to the session's part of them:
//
//   side by side   as many processes as keep it busy, and at least one. What a process keeps busy
//                  is measured, so that code which waits for a network or a lock is not held to a
//                  number of processes, and lanes that wait for each other all come to run.
//   in the long    a batch that has begun is not stopped, so it may take more than the part, which
//                  is then a debt: none begins until it is paid. In any stretch of time t with
//                  others at work, then, no more CPU time is used than
//                    cores * t  +  kSaved  +  one batch of each process.
//
// Use is free while nobody else has work. Pure; thread-compatible.
class StageGate {
 public:
  struct Running {
    Duration wall{};  // since its batch began
    Duration cpu{};   // of its process for it
  };
  // A batch of this age shows how busy its process is; a younger one counts as the mean.
  static constexpr Duration kTelling = std::chrono::milliseconds(100);
  // The most CPU time that is saved, for late calls of Look.
  static constexpr Duration kSaved = std::chrono::milliseconds(100);
  // The least rate at which a debt is paid, so that a session with a tiny share does not wait for
  // ever.
  static constexpr double kLeastCores = 0.1;

  // Called before MayBegin. `running`: the batches that run now. `cores`: the session's since the
  // last look; infinite: nobody else has work.
  void Look(SteadyTime now, std::span<const Running> running, double cores);
  // `cores` as in Look; half a core is rounded up.
  [[nodiscard]] bool MayBegin(std::span<const Running> running, double cores) const;
  // Notes the end of a running batch.
  void Ended(const Running& batch);
  // Cores that a process keeps busy in a batch, a running mean.
  [[nodiscard]] double busy() const { return busy_; }

 private:
  static double Busy(const Running& batch) {
    return static_cast<double>(batch.cpu.count()) / static_cast<double>(batch.wall.count());
  }
  double busy_ = 1;
  double level_ns_ = 0;  // CPU time; below 0: debt
  bool free_ = true;     // nobody else had work at the last look
  Duration ended_{};     // CPU time of batches that have ended
  Duration used_then_{};
  SteadyTime looked_{};
};

}  // namespace headrace::dataworker
