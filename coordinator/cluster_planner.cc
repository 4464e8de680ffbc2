#include "coordinator/cluster_planner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "coordinator/cache_mates.h"
#include "coordinator/cache_places.h"
#include "coordinator/cluster_view.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/dataset_view.h"
#include "coordinator/divide_caches.h"
#include "coordinator/divide_source.h"
#include "coordinator/divide_tiers.h"
#include "coordinator/host_keys.h"
#include "coordinator/leaf_caches.h"
#include "coordinator/link_shares.h"
#include "coordinator/placement/placement.h"
#include "coordinator/policy/core/divide.h"
#include "coordinator/replica_grants.h"
#include "coordinator/source_limits.h"
#include "coordinator/spare_cache.h"

namespace headrace::coordinator {
namespace {

// Rounded up, but for what is an error of the arithmetic: of ten jobs with a tenth of a core each, nine would have
// 101, and the last one what they leave.
std::int64_t Millicores(double cores) {
  return static_cast<std::int64_t>(std::ceil(cores * 1000 - 1e-6));
}

// The lease of a worker in its own cores, from mean cores. What it has stays where the difference is of rounding.
std::uint32_t OwnMillicores(double speed, std::int32_t of_mean_core, std::uint32_t held) {
  if (speed == 1) return static_cast<std::uint32_t>(of_mean_core);
  const auto own = std::max<std::int64_t>(kLeastMillicores, std::lround(of_mean_core / speed));
  const auto change = own - std::int64_t{held};
  return std::abs(change) <= 2 && held > 0 ? held : static_cast<std::uint32_t>(own);
}

class ClusterPlanner {
 public:
  ClusterPlanner(const PlanRules& rules, const ClusterView& view)
      : rules_(rules), view_(view), local_cores_(view.local_cores) {}

  ClusterPlan Apply(const Allocation& allocation) {
    ClusterPlan plan;
    plan.dearer_demand_cores.assign(rules_.dearer_core_prices.size(), 0);
    std::vector<PlacementJob> placed;
    std::vector<double> source;      // by rank, bytes/s
    std::vector<double> read_bytes;  // of one of its reads
    std::vector<std::int32_t> dataset, tenants;
    for (std::size_t g = 0; g < view_.groups.size(); ++g) {
      const Grant& grant = allocation.jobs[g];
      double need = 0;
      for (const double each : view_.groups[g].needs) need += each;
      const Tenant& tenant =
          view_.snapshot.tenants[static_cast<std::size_t>(view_.snapshot.jobs[g].tenant)];
      if (grant.admitted) CountDemand(view_.groups[g], tenant, plan);
      for (std::size_t r = 0; r < view_.groups[g].ranks.size(); ++r) {
        const Job& job = *view_.groups[g].ranks[r];
        const double share = need > 0 ? view_.groups[g].needs[r] / need
                                      : 1.0 / static_cast<double>(view_.groups[g].ranks.size());
        plan.jobs.push_back({job.spec.job, {}, grant.reason, grant.why});
        PlacementJob each;
        each.job = job.spec.job;
        if (grant.admitted) {
          // Never 0: the job must be able to show its need.
          each.millicores =
              std::max(std::int64_t{kLeastMillicores}, Millicores(grant.cores * share));
        }
        // A quota holds for own cores, too.
        each.wanted =
            std::isfinite(tenant.quota.cores)
                ? 0
                : std::int64_t(std::ceil(view_.groups[g].needs[r] * (1 + kHeadroom) * 1000));
        each.uid = job.spec.host.uid;
        each.most_workers = job.spec.wanted_workers;
        each.host = HostKey(job.spec.host);
        SetNetwork(job, each);
        each.lanes_stay = job.lanes_stay();
        // Where hosts share, any host serves as well as those that are used.
        each.caches = PrefersItsHosts(view_.groups[g].cache);
        for (const WorkerId id : job.leases) {
          each.held[id].millicores = static_cast<std::int32_t>(
              std::lround(HeldOn(job.spec.job, id).millicores * view_.SpeedOf(id)));
        }
        if (const auto at = view_.holders.find(job.spec.job); at != view_.holders.end()) {
          for (const WorkerId id : at->second) {
            if (const auto held = each.held.find(id); held != each.held.end()) {
              held->second.holds_cache = true;
            }
          }
        }
        placed.push_back(std::move(each));
        const double most = std::min(rules_.source_rate, tenant.quota.source_rate);
        const double given =
            std::max(grant.source_rate * share,
                     SourceWithRoom(view_.snapshot.jobs[g], grant, share, job.leases.size(),
                                    rules_.source_rate / static_cast<double>(view_.ranks)));
        const double least = LeastOfSource(most, view_.ranks, view_.groups[g].known);
        source.push_back(std::max(std::min(given, most * share), least));
        read_bytes.push_back(view_.snapshot.jobs[g].terms.miss_bytes);
        dataset.push_back(view_.groups[g].cache);
        tenants.push_back(view_.snapshot.jobs[g].tenant);
      }
    }
    for (std::size_t t = 0; t < view_.snapshot.tenants.size(); ++t) {
      FitSource(source, view_.snapshot.tenants[t].quota.source_rate,
                [&](std::size_t i) { return tenants[i] == static_cast<std::int32_t>(t); });
    }
    FitSource(source, rules_.source_rate, [](std::size_t) { return true; });
    std::vector<Leases> leases = Place(placed, view_.workers);
    for (std::size_t i = 0; i < placed.size() && rules_.lease_all; ++i) {
      for (const PlacementWorker& worker : view_.workers) {
        if (placed[i].millicores > 0 && (!worker.home_only || MayUse(placed[i], worker)))
          leases[i].try_emplace(worker.worker, kLeastMillicores);
      }
    }
    for (std::size_t i = 0; i < placed.size(); ++i) {
      for (const auto& [id, millicores] : leases[i]) {
        wire::JobGrant& grant = plan.jobs[i].grants[id];
        grant.job = plan.jobs[i].job;
        const double speed = view_.SpeedOf(id);
        grant.millicores = OwnMillicores(speed, millicores,
                                         speed == 1 ? 0 : HeldOn(plan.jobs[i].job, id).millicores);
      }
      if (std::isfinite(source[i]))
        LimitSource(view_.state, source[i], read_bytes[i], plan.jobs[i]);
      if (plan.jobs[i].reason.empty() && leases[i].empty()) {
        plan.jobs[i].reason =
            view_.workers.empty() ? "no worker" : "no worker that serves its host";
      }
    }
    GrantCaches(allocation, dataset, placed, plan);
    for (const JobId id : view_.cancelled) plan.jobs.push_back({id, {}, "cancelled by order", {}});
    std::sort(plan.jobs.begin(), plan.jobs.end(),
              [](const JobPlan& a, const JobPlan& b) { return a.job < b.job; });
    return plan;
  }

 private:
  // What its leases take of the links: all that their cores can make, for no trainer has taken enough
  // while they are of use.
  void SetNetwork(const Job& job, PlacementJob& placed) const {
    placed.rack = job.spec.rack;
    const JobNetwork& network = view_.links.Of(job.spec.job);
    if (!view_.links.limited() || placed.millicores <= 0 || network.terms.sent_bytes <= 0) return;
    const double cost = view_.SpeedOf(job) * CostPerSample(network.terms, job.meter.hit());
    const double taken = (1 + kHeadroom) * network.terms.ready_rate;
    const double made = cost > 0 ? 1e-3 / cost : taken / static_cast<double>(placed.millicores);
    placed.bytes_per_millicore =
        WholeBytes(std::min(1e10, std::ceil(made * network.terms.sent_bytes)));
    placed.most_bytes = WholeBytes(std::min(network.share.rate, taken * network.terms.sent_bytes));
    placed.link = WholeBytes(view_.links.LinkOf(placed.host));
    placed.said_link = WholeBytes(view_.links.SaidLinkOf(job.spec));
    placed.tenant = job.spec.tenant;
  }

  [[nodiscard]] bool PrefersItsHosts(std::int32_t dataset) const {
    return dataset >= 0 && !view_.entry_sizes[static_cast<std::size_t>(dataset)].wide;
  }

  void CountDemand(const ClusterGroup& group, const Tenant& tenant, ClusterPlan& plan) {
    double cores = std::min(group.known_cores, tenant.quota.cores), own_cores = 0;
    std::set<std::string> hosts;
    for (const Job* rank : group.ranks) {
      const auto local = local_cores_.find(UserKey(rank->spec.host));
      if (local == local_cores_.end()) continue;
      const double own = std::min(cores, local->second);
      cores -= own;
      local->second -= own;
      // Ranks of one host share its workers.
      if (hosts.insert(local->first).second) own_cores += view_.local_cores.at(local->first);
    }
    const auto gpus = static_cast<double>(group.ranks.size());
    if (!WorthBuying(rules_.prices, gpus, own_cores)) return;
    plan.demand_cores += cores;
    for (std::size_t k = 0; k < rules_.dearer_core_prices.size(); ++k) {
      const HourPrices dearer{rules_.prices.gpu, rules_.dearer_core_prices[k]};
      if (WorthBuying(dearer, gpus, own_cores)) plan.dearer_demand_cores[k] += cores;
    }
  }

  void GrantCaches(const Allocation& allocation, const std::vector<std::int32_t>& dataset,
                   const std::vector<PlacementJob>& placed, ClusterPlan& plan) const {
    std::vector<CachePlaces> places = view_.PlacesOfDatasets();
    std::vector<CacheUser> users;
    const CacheMates mates(view_.state, view_.workers);
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
      const Job* const job = view_.state.FindJob(plan.jobs[i].job);
      if (job->idle()) {
        for (auto& [id, grant] : plan.jobs[i].grants) {
          SetIdle(HeldOn(plan.jobs[i].job, id), grant);
        }
        continue;
      }
      if (dataset[i] < 0) {
        for (auto& [id, grant] : plan.jobs[i].grants) {
          const wire::JobGrant held = HeldOn(plan.jobs[i].job, id);
          grant.cache_encoded = held.cache_encoded;
          grant.data_set = LeafAccountOf(view_.state, *job, held);
        }
        continue;
      }
      const auto d = static_cast<std::size_t>(dataset[i]);
      // Workers keep leaves for themselves.
      if (job->spec.cache_bytes > 0 && !view_.entry_sizes[d].of_leaves()) {
        mates.AddGrants(placed[i], view_.entry_sizes[d].bytes(), view_.entry_sizes[d].wide,
                        plan.jobs[i].grants);
      }
      for (const auto& [id, grant] : plan.jobs[i].grants)
        view_.AddPlace(places, d, i, *job, grant, id);
      const Session* session = CachedSession({&job, 1});
      const Tenant& tenant =
          view_.snapshot.tenants[static_cast<std::size_t>(view_.TenantOf(job->spec.tenant))];
      CacheUser user{job, d, &plan.jobs[i].grants};
      if (session != nullptr) {
        const DatasetView& known = *FindView(view_.views, session->dataset);
        user.name = known.dataset;
        user.encoded = KeepsEncoded(known);
        user.nodes = known.nodes;
      }
      user.wide = view_.entry_sizes[d].wide;
      user.bounded = std::isfinite(tenant.quota.cache_bytes) ||
                     std::isfinite(view_.snapshot.datasets[d].most_bytes);
      users.push_back(user);
    }
    // What ended jobs have left of a pinned data set is a part of its quota.
    std::vector<double> quotas = allocation.dataset_bytes;
    for (std::size_t d = 0; d < quotas.size(); ++d)
      quotas[d] = std::max(0.0, quotas[d] - view_.left[d]);
    DivideCaches(view_.state, view_.snapshot.datasets, quotas, places, view_.kept, users);
    if (rules_.replicas) GrantReplicas(view_.views, view_.snapshot.datasets, quotas, users);
    GrantSpareCaches(view_.state, view_.snapshot.tenants, rules_.dataset_bytes, view_.kept, plan);
    GrantTiers(view_.state, plan);
  }
  [[nodiscard]] wire::JobGrant HeldOn(JobId job, WorkerId worker) const {
    const auto& grants = view_.state.FindJob(job)->grants;
    const auto at = grants.find(worker);
    return at == grants.end() ? wire::JobGrant{} : at->second;
  }

  const PlanRules& rules_;
  const ClusterView& view_;
  std::unordered_map<std::string, double> local_cores_;  // for which no demand was counted
};

}  // namespace

ClusterPlan MakePlan(const PlanRules& rules, const State& state) {
  HR_CHECK(rules.policy != nullptr);
  const ClusterView view = ViewCluster(rules, state);
  return ClusterPlanner(rules, view).Apply(rules.policy->Decide(view.snapshot));
}

}  // namespace headrace::coordinator
