#include "schemas/wire/bad_samples.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hash.h"
#include "schemas/wire/message.h"

namespace headrace::wire {

std::vector<BadSample> Bounded(std::vector<BadSample> samples) {
  constexpr std::size_t kMostTextBytes = 400;
  std::vector<BadSample> bounded;
  std::set<std::pair<std::uint64_t, std::int64_t>> seen;
  for (auto it = samples.rbegin(); it != samples.rend() && bounded.size() < kMostBadSamples; ++it) {
    if (!seen.emplace(it->data_set, it->row).second) continue;
    it->name.resize(std::min(it->name.size(), kMostTextBytes));
    it->cause.resize(std::min(it->cause.size(), kMostTextBytes));
    bounded.push_back(std::move(*it));
  }
  std::ranges::reverse(bounded);
  return bounded;
}

std::uint64_t DataSetOf(const Plan& plan) {
  if (plan.has_python_stage || plan.leaves.empty()) return 0;
  Plan only_sources;
  only_sources.leaves = plan.leaves;
  const std::uint64_t hash = HashBytes(EncodePlan(only_sources));
  return hash == 0 ? 1 : hash;
}

}  // namespace headrace::wire
