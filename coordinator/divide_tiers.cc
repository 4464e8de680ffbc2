#include "coordinator/divide_tiers.h"

#include <algorithm>
#include <numeric>

namespace headrace::coordinator {

std::vector<std::vector<wire::TierBytes>> DivideTiers(const std::vector<wire::TierBytes>& tiers,
                                                      const std::vector<std::uint64_t>& grants) {
  std::vector<std::vector<wire::TierBytes>> shares(grants.size());
  std::vector<double> left(grants.begin(), grants.end());
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const double all = std::accumulate(left.begin(), left.end(), 0.0);
    const auto room = static_cast<double>(tiers[t].bytes);
    const double part = t + 1 == tiers.size() || all <= room ? 1 : room / all;
    for (std::size_t g = 0; g < grants.size(); ++g) {
      const auto bytes = static_cast<std::uint64_t>(left[g] * part);
      shares[g].push_back({tiers[t].tier, bytes});
      left[g] -= static_cast<double>(bytes);
    }
  }
  return shares;
}

void GrantTiers(const State& state, ClusterPlan& plan) {
  for (const auto& [id, worker] : state.workers()) {
    const std::vector<wire::TierBytes>& tiers = worker.info.tiers;
    if (!worker.leasable() || tiers.size() < 2) continue;
    std::vector<wire::JobGrant*> grants;
    std::vector<std::uint64_t> bytes;
    for (JobPlan& job : plan.jobs) {
      const auto grant = job.grants.find(id);
      if (grant == job.grants.end()) continue;
      grants.push_back(&grant->second);
      bytes.push_back(grant->second.cache_bytes);
    }
    auto shares = DivideTiers(tiers, bytes);
    for (std::size_t i = 0; i < grants.size(); ++i) grants[i]->tiers = std::move(shares[i]);
  }
}

}  // namespace headrace::coordinator
