#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "trainer_client/stall/wait_attribution.h"

namespace headrace::client {

// Divides the trainer's time into the program's steps and waits for data, and the waits by cause.
// The trainer's thread is in its program or inside next(), where it asks the sampler, waits for a
// batch, or has work of its own with the batches:
//
//   program --EnterNext--> own work --EnterSampler--> sampler --LeaveSampler--> own work
//      ^                     |   ^                                                |
//      `------LeaveNext------'   `---EndWait, PauseWait--- waiting <--BeginWait---'
//
// A wait is divided by cause when the batch that ended it has come. Thread-compatible.
class StallMeter {
 public:
  // Begins a new iteration. The time since the last batch was no step, and the batches that were
  // waited for do not come.
  void Restart() {
    running_ = false;
    Settle(waited_.size());
  }
  void EnterNext(SteadyTime now) {
    if (running_) step_ += now - since_;
    Change(now, Phase::kOwnWork);
  }
  void LeaveNext(SteadyTime now) {
    Change(now, Phase::kProgram);
    running_ = true;
  }
  [[nodiscard]] bool inside() const { return phase_ != Phase::kProgram; }
  // The sampler's time counts only inside of next().
  void EnterSampler(SteadyTime now) {
    if (inside()) Change(now, Phase::kSampler);
  }
  void LeaveSampler(SteadyTime now) {
    if (inside()) Change(now, Phase::kOwnWork);
  }
  void BeginWait(SteadyTime now) { Change(now, Phase::kWaiting); }
  // Pauses the wait because something other than a batch came. The wait may go on later.
  void PauseWait(SteadyTime now) { Change(now, Phase::kOwnWork); }
  void EndWait(SteadyTime now, const BatchTimeline& timeline) {
    Change(now, Phase::kOwnWork);
    for (const auto& [from, to] : waited_) wait_ += DivideWait(from, to, timeline);
    waited_.clear();
  }
  // Adds time of the waits so far in which the device had nothing to do.
  void AddIdle(Duration idle) {
    idle_ += idle;
    idle_known_ = true;
  }

  // The waits by cause. Those that no batch has ended yet count as waits for a worker.
  [[nodiscard]] WaitByCause wait(SteadyTime now) const {
    WaitByCause all = wait_;
    for (const auto& [from, to] : waited_) all[WaitCause::kQueue] += to - from;
    if (phase_ == Phase::kWaiting && now > since_) all[WaitCause::kQueue] += now - since_;
    return all;
  }
  [[nodiscard]] Duration step() const { return step_; }
  [[nodiscard]] Duration idle() const { return idle_; }
  [[nodiscard]] bool idle_known() const { return idle_known_; }

 private:
  enum class Phase : std::uint8_t { kProgram, kOwnWork, kSampler, kWaiting };
  static constexpr std::size_t kMostWaited = 64;

  void Change(SteadyTime now, Phase next) {
    if (phase_ == Phase::kWaiting && next == Phase::kWaiting) return;
    switch (phase_) {
      case Phase::kProgram:
        break;
      case Phase::kOwnWork:
        wait_[WaitCause::kCopy] += now - since_;
        break;
      case Phase::kSampler:
        wait_[WaitCause::kSampler] += now - since_;
        break;
      case Phase::kWaiting:
        if (waited_.size() == kMostWaited) Settle(kMostWaited / 2);
        waited_.emplace_back(since_, now);
        break;
    }
    since_ = now;
    phase_ = next;
  }
  // Gives up on a batch that would explain the first `count` waits.
  void Settle(std::size_t count) {
    const auto end = waited_.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto it = waited_.begin(); it != end; ++it) {
      wait_[WaitCause::kQueue] += it->second - it->first;
    }
    waited_.erase(waited_.begin(), end);
  }

  Phase phase_ = Phase::kProgram;
  bool running_ = false;  // since_ began a step of the program
  bool idle_known_ = false;
  SteadyTime since_{};
  Duration step_{}, idle_{};
  WaitByCause wait_;
  std::vector<std::pair<SteadyTime, SteadyTime>> waited_;  // until the batch comes
};

// Totals that never fall, for readers that take differences. A wait that is not over counts as one
// for a worker, and may turn out to have another cause. The excess of a cause is then held back
// from the growth of the others until the true value has caught up. So the sum is always the true
// one.
class GrowingWaits {
 public:
  const WaitByCause& Follow(const WaitByCause& now) {
    double excess = 0, growth = 0;
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      const auto change = static_cast<double>((now.of[i] - said_.of[i]).count());
      (change > 0 ? growth : excess) += std::abs(change);
    }
    if (growth <= 0) return said_;
    const double kept = std::max(0.0, 1 - excess / growth);
    Duration left = std::max(now.Sum() - said_.Sum(), Duration{});
    std::size_t fastest = 0;
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      const Duration change = now.of[i] - said_.of[i];
      if (change > now.of[fastest] - said_.of[fastest]) fastest = i;
    }
    WaitByCause next = said_;
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      const Duration change = now.of[i] - said_.of[i];
      if (i == fastest || change <= Duration{}) continue;
      const Duration part(static_cast<Duration::rep>(static_cast<double>(change.count()) * kept));
      const Duration given = std::min(part, left);
      next.of[i] += given;
      left -= given;
    }
    next.of[fastest] += left;
    said_ = next;
    return said_;
  }

 private:
  WaitByCause said_;
};

}  // namespace headrace::client
