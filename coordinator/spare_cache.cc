#include "coordinator/spare_cache.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/dataset_view.h"
#include "coordinator/leaf_caches.h"

namespace headrace::coordinator {
namespace {

const Tenant& TenantNamed(std::span<const Tenant> tenants, std::string_view name) {
  const auto found = std::ranges::find(tenants, name, &Tenant::name);
  return found == tenants.end() ? tenants.front() : *found;
}

// What is left of the bounds that the operator has set for what programs keep, by name. All jobs of a program have one.
class LeafBounds {
 public:
  LeafBounds(const State& state, const std::map<std::string, double>& bounds, const KeptBytes& kept)
      : state_(state), bounds_(bounds), kept_(kept) {}

  // Notes a job's grant on a worker, and whether it takes more.
  void Note(JobId job, double taken, bool wants) {
    if (bounds_.empty()) return;
    const std::uint64_t number = LeafNumberOf(state_, job);
    const KnownDataset* leaves = state_.datasets().Find(number);
    if (leaves == nullptr || !bounds_.contains(leaves->name)) return;
    of_job_[job] = leaves;
    const double all = bounds_.at(leaves->name) - kept_.Of(number);
    Left& left = left_.try_emplace(leaves, Left{all}).first->second;
    left.bytes -= taken;
    left.wanting += wants ? 1 : 0;
  }
  // Bytes that the job may have on one more worker: an equal part of what is left.
  [[nodiscard]] double Of(JobId job) const {
    const auto leaves = of_job_.find(job);
    if (leaves == of_job_.end()) return kUnlimited;
    const Left& left = left_.at(leaves->second);
    return left.bytes / std::max(1, left.wanting);
  }
  void Take(JobId job, double bytes) {
    const auto leaves = of_job_.find(job);
    if (leaves == of_job_.end()) return;
    Left& left = left_.at(leaves->second);
    left.bytes -= bytes;
    --left.wanting;
  }

 private:
  struct Left {
    double bytes = 0;
    int wanting = 0;  // jobs, each once a worker
  };
  const State& state_;
  const std::map<std::string, double>& bounds_;
  const KeptBytes& kept_;
  std::map<JobId, const KnownDataset*> of_job_;
  std::map<const KnownDataset*, Left> left_;
};

}  // namespace

void GrantSpareCaches(const State& state, std::span<const Tenant> tenants,
                      const std::map<std::string, double>& bounds, const KeptBytes& kept,
                      ClusterPlan& plan) {
  std::map<WorkerId, double> left;
  std::map<const Tenant*, double> tenant_left;
  std::map<WorkerId, std::vector<std::pair<wire::JobGrant*, const Job*>>> wanting;
  LeafBounds of_leaves(state, bounds, kept);
  for (const Tenant& tenant : tenants) tenant_left[&tenant] = tenant.quota.cache_bytes;
  for (JobPlan& each : plan.jobs) {
    const Job* const job = state.FindJob(each.job);
    for (auto& [id, grant] : each.grants) {
      const Worker& worker = *state.FindWorker(id);
      const auto [at, is_new] = left.try_emplace(id, 0);
      if (is_new) at->second = static_cast<double>(worker.info.cache_bytes) - kept.On(id);
      const auto taken = static_cast<double>(grant.cache_bytes);
      at->second -= taken;
      tenant_left[&TenantNamed(tenants, job->spec.tenant)] -= taken;
      const bool wants = CachedSession({&job, 1}) == nullptr && LooksIntoCache(worker, *job);
      of_leaves.Note(each.job, taken, wants);
      if (wants) wanting[id].emplace_back(&grant, job);
    }
  }
  for (auto& [id, jobs] : wanting) {
    double rest = std::max(0.0, left[id]);
    // Those with the least bounds first, so that the others have what they leave.
    std::ranges::stable_sort(jobs, {}, [&](const auto& one) {
      return std::min(static_cast<double>(one.second->spec.cache_bytes),
                      of_leaves.Of(one.second->spec.job));
    });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto& [grant, job] = jobs[i];
      double& own = tenant_left[&TenantNamed(tenants, job->spec.tenant)];
      // Beside what is planned for it.
      const double most =
          static_cast<double>(job->spec.cache_bytes) - static_cast<double>(grant->cache_bytes);
      const double part = std::max(0.0, std::min({rest / static_cast<double>(jobs.size() - i), own,
                                                  most, of_leaves.Of(job->spec.job)}));
      grant->cache_bytes += static_cast<std::uint64_t>(part);
      rest -= part;
      own -= part;
      of_leaves.Take(job->spec.job, part);
    }
  }
}

}  // namespace headrace::coordinator
