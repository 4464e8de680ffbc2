#include "dataworker/session/lane_refusals.h"

namespace headrace::dataworker {
namespace {

std::pair<IterationId, BatchId> NameOf(const wire::BatchRequest& request) {
  return {request.iteration, request.batch};
}

}  // namespace

const LaneRefusals::Lane* LaneRefusals::Find(const wire::BatchRequest& request) const {
  const auto at = lanes_.find(request.lane);
  return at != lanes_.end() && at->second.set == request.lane_set ? &at->second : nullptr;
}

bool LaneRefusals::Bars(const wire::BatchRequest& request) const {
  const Lane* lane = Find(request);
  if (lane == nullptr || lane->refused.empty()) return false;
  return *lane->refused.begin() < NameOf(request) && !lane->refused.contains(NameOf(request));
}

void LaneRefusals::Refused(const wire::BatchRequest& request) {
  if (Find(request) == nullptr) {
    const auto at = lanes_.find(request.lane);
    if (at == lanes_.end() && lanes_.size() >= kMostLanes) return;
    if (at != lanes_.end() && request.lane_set < at->second.set) return;  // serves no more
    lanes_[request.lane] = {.set = request.lane_set, .refused = {}};
  }
  std::set<std::pair<IterationId, BatchId>>& refused = lanes_.at(request.lane).refused;
  // Those after it were refused before the trainer could know of this one.
  refused.erase(refused.upper_bound(NameOf(request)), refused.end());
  refused.insert(NameOf(request));
  if (refused.size() > kMostBatches) refused.erase(refused.begin());
}

void LaneRefusals::Accepted(const wire::BatchRequest& request) {
  const auto at = lanes_.find(request.lane);
  if (at == lanes_.end() || request.lane_set < at->second.set) return;
  std::set<std::pair<IterationId, BatchId>>& refused = at->second.refused;
  if (request.lane_set > at->second.set) refused.clear();
  refused.erase(refused.begin(), refused.upper_bound(NameOf(request)));
  if (refused.empty()) lanes_.erase(at);
}

}  // namespace headrace::dataworker
