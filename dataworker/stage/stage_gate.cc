#include "dataworker/stage/stage_gate.h"

#include <algorithm>
#include <cmath>

namespace headrace::dataworker {

void StageGate::Look(SteadyTime now, std::span<const Running> running, double cores) {
  Duration used = ended_;
  for (const Running& batch : running) used += batch.cpu;
  if (std::isinf(cores)) {
    level_ns_ = 0;
  } else if (!free_) {
    const auto passed = static_cast<double>((now - looked_).count());
    // It is less than at that time if a process was lost.
    const auto more = static_cast<double>(std::max(used - used_then_, Duration(0)).count());
    level_ns_ = std::min(level_ns_ + passed * std::max(cores, kLeastCores) - more,
                         static_cast<double>(kSaved.count()));
  }
  free_ = std::isinf(cores);
  used_then_ = used;
  looked_ = now;
}

bool StageGate::MayBegin(std::span<const Running> running, double cores) const {
  if (std::isinf(cores)) return true;
  if (level_ns_ < 0) return false;
  if (running.empty()) return true;
  double busy = busy_;
  for (const Running& batch : running) busy += batch.wall < kTelling ? busy_ : Busy(batch);
  return busy <= cores + 0.5;
}

void StageGate::Ended(const Running& batch) {
  ended_ += batch.cpu;
  if (batch.wall > Duration(0)) busy_ += (Busy(batch) - busy_) / 8;
}

}  // namespace headrace::dataworker
