#include "coordinator/spare_cache.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "coordinator/dataset_view.h"
#include "coordinator/leaf_caches.h"

namespace headrace::coordinator {
namespace {

// What the grant takes of what others may have. A job between two loaders has its former quota, which is room that
// the worker gives to others: only what is there counts.
double TakenBy(const Worker& worker, const Job& job, const wire::JobGrant& grant) {
  const auto granted = static_cast<double>(grant.cache_bytes);
  if (!job.sessions.empty()) return granted;
  const auto usage = std::ranges::find(worker.last.usage, job.spec.job, &wire::JobUsage::job);
  if (usage == worker.last.usage.end()) return 0;
  return std::min(granted, static_cast<double>(usage->cache_bytes));
}

const Tenant& TenantNamed(std::span<const Tenant> tenants, std::string_view name) {
  const auto found = std::ranges::find(tenants, name, &Tenant::name);
  return found == tenants.end() ? tenants.front() : *found;
}

}  // namespace

void GrantSpareCaches(const State& state, std::span<const Tenant> tenants, const KeptBytes& kept,
                      ClusterPlan& plan) {
  std::map<WorkerId, double> left;
  std::map<const Tenant*, double> tenant_left;
  std::map<WorkerId, std::vector<std::pair<wire::JobGrant*, const Job*>>> wanting;
  for (const Tenant& tenant : tenants) tenant_left[&tenant] = tenant.quota.cache_bytes;
  for (JobPlan& each : plan.jobs) {
    const Job* const job = state.FindJob(each.job);
    for (auto& [id, grant] : each.grants) {
      const Worker& worker = *state.FindWorker(id);
      const auto [at, is_new] = left.try_emplace(id, 0);
      if (is_new) at->second = static_cast<double>(worker.info.cache_bytes) - kept.On(id);
      const double taken = TakenBy(worker, *job, grant);
      at->second -= taken;
      tenant_left[&TenantNamed(tenants, job->spec.tenant)] -= taken;
      if (CachedSession({&job, 1}) == nullptr && LooksIntoCache(worker, *job)) {
        wanting[id].emplace_back(&grant, job);
      }
    }
  }
  for (auto& [id, jobs] : wanting) {
    double rest = std::max(0.0, left[id]);
    // Those with the least bounds first, so that the others have what they leave.
    std::ranges::stable_sort(jobs, {},
                             [](const auto& one) { return one.second->spec.cache_bytes; });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto& [grant, job] = jobs[i];
      double& own = tenant_left[&TenantNamed(tenants, job->spec.tenant)];
      // Beside what is planned for it.
      const double most =
          static_cast<double>(job->spec.cache_bytes) - static_cast<double>(grant->cache_bytes);
      const double part =
          std::max(0.0, std::min({rest / static_cast<double>(jobs.size() - i), own, most}));
      grant->cache_bytes += static_cast<std::uint64_t>(part);
      rest -= part;
      own -= part;
    }
  }
}

}  // namespace headrace::coordinator
