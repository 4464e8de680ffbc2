#include "eviction/core/past_uses.h"

#include <algorithm>
#include <cmath>

namespace headrace::eviction {

double PastUses::Of(double uses, double at) const { return std::log2(uses) + at / half_life_; }

double PastUses::Sum(double a, double b) const {
  const auto [low, high] = std::minmax(a, b);
  return high + std::log2(1 + std::exp2(low - high));
}

std::optional<double> PastUses::Recall(ItemId id) const {
  const auto found = places_.find(id);
  if (found == places_.end()) return std::nullopt;
  return found->second->second;
}

void PastUses::Remember(ItemId id, double past) {
  Forget(id);
  places_[id] = list_.emplace(list_.end(), id, past);
  if (places_.size() > most_) Forget(list_.front().first);
}

void PastUses::Forget(ItemId id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  list_.erase(found->second);
  places_.erase(found);
}

}  // namespace headrace::eviction
