#include "coordinator/replica_grants.h"

#include <algorithm>
#include <set>

#include "coordinator/estimate/ask_cost.h"
#include "coordinator/estimate/hit_share.h"

namespace headrace::coordinator {
namespace {

// Quotas move in small steps.
constexpr double kWhole = 0.99;
// Share of reads that hit from which on copies begin, and down to which they stay.
constexpr double kHits = 0.9, kHitsStill = 0.8;

bool HasRoom(const CacheUser& user, std::span<const Dataset> datasets,
             std::span<const double> quotas) {
  const Dataset& dataset = datasets[user.dataset];
  return quotas[user.dataset] >= kWhole * UsefulBytes(dataset.bytes, dataset.hosts);
}

bool Holds(const DatasetView& view) {
  return std::ranges::any_of(view.jobs, [](const Job* job) {
    return std::ranges::any_of(job->grants, [](const auto& each) { return each.second.replicas; });
  });
}

// By what its jobs measured. `workers`: that have a part of it.
bool IsWorthIt(const DatasetView& view, std::size_t workers) {
  if (!view.wide || workers < 2) return false;
  const bool holds = Holds(view);
  double rate = 0;
  for (const Job* job : view.jobs) {
    if (!job->meter.demand().known) return holds;
    rate += job->meter.rate();
  }
  if (view.hit < (holds ? kHitsStill : kHits)) return false;
  const double others = 1 - 1 / static_cast<double>(workers);
  // Of encoded bytes each sample is decoded all the same.
  const double cost = view.encoded ? view.terms.miss_cost : CostPerSample(view.terms, view.hit);
  return WorthReplicas({.rate = rate, .asked = view.hit * others, .cost_s = cost},
                       view.size.bytes(), holds);
}

}  // namespace

void GrantReplicas(const std::map<std::uint64_t, DatasetView>& views,
                   std::span<const Dataset> datasets, std::span<const double> quotas,
                   std::span<const CacheUser> users) {
  std::map<std::uint64_t, std::set<WorkerId>> workers;
  std::set<std::uint64_t> bounded;
  for (const CacheUser& user : users) {
    if (!user.bounded && !HasRoom(user, datasets, quotas)) return;
    if (user.bounded || user.job->spec.cache_bytes != wire::kNoCacheBound)
      bounded.insert(user.name);
    for (const auto& [id, grant] : *user.grants) workers[user.name].insert(id);
  }
  std::map<std::uint64_t, bool> worth;
  for (const auto& [name, own] : workers) {
    const auto view = views.find(name);
    worth[name] =
        view != views.end() && !bounded.contains(name) && IsWorthIt(view->second, own.size());
  }
  for (const CacheUser& user : users) {
    if (!user.wide || !worth.at(user.name)) continue;
    for (auto& [id, grant] : *user.grants) grant.replicas = true;
  }
}

}  // namespace headrace::coordinator
