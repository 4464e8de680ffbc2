#include "coordinator/scaling/epoch_length.h"

#include <utility>

namespace headrace::coordinator {

void EpochLength::Report(const std::vector<wire::SessionLoad>& loads) {
  std::unordered_map<SessionId, Seen> open;
  for (const wire::SessionLoad& load : loads) {
    const auto known = open_.find(load.session);
    Seen seen = known == open_.end() ? Seen{} : known->second;
    const auto samples = static_cast<double>(load.samples);
    // Of one that was not seen before, nobody knows when its iterations began.
    if (known != open_.end() && load.iterations > seen.iterations && load.iterations > 1) {
      seen.epoch = (seen.samples + samples) / 2 / static_cast<double>(load.iterations - 1);
    }
    seen.samples = samples;
    seen.iterations = load.iterations;
    open[load.session] = seen;
  }
  for (const auto& [id, seen] : open_) {
    if (open.contains(id)) continue;
    ended_ = seen.epoch > 0 ? seen.epoch : seen.samples;
  }
  open_ = std::move(open);
}

double EpochLength::samples() const {
  double sum = 0;
  for (const auto& [id, seen] : open_) sum += seen.epoch;
  return sum > 0 ? sum : ended_;
}

}  // namespace headrace::coordinator
