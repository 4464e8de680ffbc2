#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/process/allowance.h"

namespace headrace::dataworker {

// How many cores idle, of those that this process may use: decided from what the kernel has counted between two
// looks. All that runs counts as busy, lanes, trainers and other programs too, but not what runs only because
// cores idle. Pure; not thread-safe.
class IdleCores {
 public:
  // Shorter, the kernel's steps of 10 ms are too coarse.
  static constexpr Duration kBetween = std::chrono::milliseconds(200);
  // What was found holds so long.
  static constexpr Duration kHolds = std::chrono::seconds(1);

  [[nodiscard]] bool WantsLook(SteadyTime now) const {
    return !last_ || now - last_->at >= kBetween;
  }

  // `own`: CPU seconds of what runs only because cores idle, since any moment. nullopt: nobody knows what runs.
  void See(SteadyTime now, std::optional<ProcessorUse> use, double own) {
    std::optional<Look> look;
    if (use) look = Look{now, std::move(*use), own};
    cores_ = 0;
    if (look && last_ && now - last_->at <= 2 * kHolds && now > last_->at) {
      cores_ = Free(*last_, *look);
    }
    last_ = std::move(look);
  }

  // Threads that would find a core: the next whole number. 0: none, or nobody has looked for a while.
  [[nodiscard]] int free(SteadyTime now) const {
    return last_ && now - last_->at <= kHolds ? cores_ : 0;
  }

 private:
  struct Look {
    SteadyTime at;
    ProcessorUse use;
    double own = 0;
  };
  static int Free(const Look& before, const Look& after) {
    const double seconds = std::chrono::duration<double>(after.at - before.at).count();
    double idle = (after.use.idle_seconds - before.use.idle_seconds) / seconds;
    if (before.use.groups.size() != after.use.groups.size()) return 0;  // it was moved
    for (std::size_t i = 0; i < after.use.groups.size(); ++i) {
      const ProcessorUse::Group& now = after.use.groups[i];
      const double used = (now.used_seconds - before.use.groups[i].used_seconds) / seconds;
      idle = std::min(idle, now.cpus - used);
    }
    const double own = (after.own - before.own) / seconds;
    constexpr double kMost = 1 << 16;
    const double free = idle + own;
    return free > 0 ? static_cast<int>(std::floor(std::min(free, kMost) + 0.5)) : 0;
  }

  std::optional<Look> last_;
  int cores_ = 0;
};

}  // namespace headrace::dataworker
