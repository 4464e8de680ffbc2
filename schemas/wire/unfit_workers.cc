#include "schemas/wire/unfit_workers.h"

#include <algorithm>
#include <cstddef>

namespace headrace::wire {

std::vector<UnfitWorker> Bounded(std::vector<UnfitWorker> unfit) {
  constexpr std::size_t kMost = 64, kMostText = 400;
  std::ranges::stable_sort(unfit, {}, &UnfitWorker::worker);
  const auto same = std::ranges::unique(unfit, {}, &UnfitWorker::worker);
  unfit.erase(same.begin(), same.end());
  if (unfit.size() > kMost) unfit.resize(kMost);
  for (UnfitWorker& worker : unfit) {
    worker.reason.resize(std::min(worker.reason.size(), kMostText));
  }
  return unfit;
}

}  // namespace headrace::wire
