#include "coordinator/placement/free_workers.h"

#include <algorithm>

namespace headrace::coordinator {

FreeWorkers::FreeWorkers(const std::vector<PlacementWorker>& workers) {
  racks_of_.reserve(workers.size());
  for (const PlacementWorker& worker : workers) {
    racks_of_.push_back(worker.rack.empty() ? nullptr : &racks_[worker.rack]);
  }
}

void FreeWorkers::Add(std::size_t w, std::int32_t left) {
  all_.emplace(left, w);
  if (racks_of_[w] != nullptr) racks_of_[w]->emplace(left, w);
}

void FreeWorkers::Remove(std::size_t w, std::int32_t left) {
  all_.erase({left, w});
  if (racks_of_[w] != nullptr) racks_of_[w]->erase({left, w});
}

std::optional<std::size_t> FreeWorkers::Choose(
    std::int64_t need, const std::string& rack,
    const std::function<bool(std::size_t)>& carries) const {
  const auto own = rack.empty() ? racks_.end() : racks_.find(rack);
  const bool in_rack =
      own != racks_.end() && !own->second.empty() &&
      own->second.rbegin()->first >= std::min<std::int64_t>(need, kLeastMillicores);
  const Sizes& sizes = in_rack ? own->second : all_;
  if (sizes.empty()) return std::nullopt;
  const std::int32_t largest = sizes.rbegin()->first;
  if (need > largest) return sizes.lower_bound({largest, 0})->second;
  const auto first = sizes.lower_bound({static_cast<std::int32_t>(need), 0});
  auto at = first;
  for (int k = 0; carries && k < kLook && at != sizes.end(); ++k, ++at) {
    if (carries(at->second)) return at->second;
  }
  return first->second;
}

}  // namespace headrace::coordinator
