#include "coordinator/spare_cache.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/dataset_view.h"
#include "coordinator/leaf_caches.h"

namespace headrace::coordinator {
namespace {

const Tenant& TenantNamed(std::span<const Tenant> tenants, std::string_view name) {
  const auto found = std::ranges::find(tenants, name, &Tenant::name);
  return found == tenants.end() ? tenants.front() : *found;
}

// What is left of a bound that several jobs have together, on all workers.
struct Common {
  double bytes = 0;
  int wanting = 0;  // jobs that take more, each once a worker
  [[nodiscard]] double part() const { return bytes / std::max(1, wanting); }
};

// The bounds of tenants, and those that the operator has set for what programs keep, by name. Each has equal parts for
// all that want more, so that nobody has what the others of his tenant have none of.
class CommonBounds {
 public:
  CommonBounds(const State& state, std::span<const Tenant> tenants,
               const std::map<std::string, double>& names, const KeptBytes& kept)
      : state_(state), tenants_(tenants), names_(names), kept_(kept) {
    for (const Tenant& tenant : tenants) of_tenant_[&tenant].bytes = tenant.quota.cache_bytes;
  }

  // Notes a job's grant on a worker, and whether it takes more.
  void Note(const Job& job, double taken, bool wants) {
    for (Common* common : Of(job)) {
      common->bytes -= taken;
      common->wanting += wants ? 1 : 0;
    }
  }
  // Bytes that the job may have on one more worker.
  [[nodiscard]] double PartOf(const Job& job) {
    double part = kUnlimited;
    for (const Common* common : Of(job)) part = std::min(part, common->part());
    return part;
  }
  void Take(const Job& job, double bytes) {
    for (Common* common : Of(job)) {
      common->bytes -= bytes;
      --common->wanting;
    }
  }

 private:
  std::vector<Common*> Of(const Job& job) {
    std::vector<Common*> all{&of_tenant_.at(&TenantNamed(tenants_, job.spec.tenant))};
    if (names_.empty()) return all;
    const std::uint64_t number = LeafNumberOf(state_, job.spec.job);
    const KnownDataset* leaves = state_.datasets().Find(number);
    if (leaves == nullptr || !names_.contains(leaves->name)) return all;
    const double bytes = names_.at(leaves->name) - kept_.Of(number);
    all.push_back(&of_leaves_.try_emplace(leaves, Common{bytes}).first->second);
    return all;
  }

  const State& state_;
  const std::span<const Tenant> tenants_;
  const std::map<std::string, double>& names_;
  const KeptBytes& kept_;
  std::map<const Tenant*, Common> of_tenant_;
  std::map<const KnownDataset*, Common> of_leaves_;
};

struct Wanting {
  wire::JobGrant* grant;
  const Job* job;
};

}  // namespace

void GrantSpareCaches(const State& state, std::span<const Tenant> tenants,
                      const std::map<std::string, double>& bounds, const KeptBytes& kept,
                      ClusterPlan& plan) {
  std::map<WorkerId, double> left;
  std::map<WorkerId, std::vector<Wanting>> wanting;
  CommonBounds common(state, tenants, bounds, kept);
  for (JobPlan& each : plan.jobs) {
    const Job* const job = state.FindJob(each.job);
    for (auto& [id, grant] : each.grants) {
      const Worker& worker = *state.FindWorker(id);
      const auto [at, is_new] = left.try_emplace(id, 0);
      if (is_new) at->second = static_cast<double>(worker.info.cache_bytes) - kept.On(id);
      const auto taken = static_cast<double>(grant.cache_bytes);
      at->second -= taken;
      const bool wants = CachedSession({&job, 1}) == nullptr && LooksIntoCache(worker, *job);
      common.Note(*job, taken, wants);
      if (wants) wanting[id].push_back({&grant, job});
    }
  }
  // Those with the least room first, so that common bounds go to the others.
  std::vector<std::pair<double, WorkerId>> workers;
  for (const auto& [id, jobs] : wanting) {
    workers.emplace_back(std::max(0.0, left[id]) / static_cast<double>(jobs.size()), id);
  }
  std::ranges::sort(workers);
  for (const auto& [each, id] : workers) {
    std::vector<Wanting>& jobs = wanting[id];
    double rest = std::max(0.0, left[id]);
    // Beside what is planned for it.
    const auto most_of = [&](const Wanting& one) {
      const double own = static_cast<double>(one.job->spec.cache_bytes) -
                         static_cast<double>(one.grant->cache_bytes);
      return std::max(0.0, std::min(own, common.PartOf(*one.job)));
    };
    // Those with the least bounds first, so that the others have what they leave.
    std::ranges::stable_sort(jobs, {}, most_of);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const double part = std::min(rest / static_cast<double>(jobs.size() - i), most_of(jobs[i]));
      jobs[i].grant->cache_bytes += static_cast<std::uint64_t>(part);
      rest -= part;
      common.Take(*jobs[i].job, part);
    }
  }
}

}  // namespace headrace::coordinator
