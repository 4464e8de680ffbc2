#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "coordinator/cache_places.h"
#include "coordinator/dataset_view.h"
#include "coordinator/divide_caches.h"
#include "coordinator/link_shares.h"
#include "coordinator/placement/placement.h"
#include "coordinator/plan_rules.h"
#include "coordinator/policy/core/policy.h"
#include "coordinator/state/state.h"

// What a plan is made from: the State as the policy and the placement see it. Pure.
namespace headrace::coordinator {

constexpr double kStartCores = 16;

// The ranks of one program.
struct ClusterGroup {
  std::vector<const Job*> ranks;
  std::vector<double> needs;  // cores, by rank
  double known_cores = 0;     // see ClusterPlan::demand_cores
  bool known = true;          // something is measured of each rank
  // The data set whose quota is their cache; a policy may not know that they read it, as with leaves that are not
  // measured. -1: none.
  std::int32_t cache = -1;
};

// `state` outlives it. Thread-compatible.
struct ClusterView {
  explicit ClusterView(const State& of);

  // Mean cores in a core of those that the job has: what turns its costs, as measured, into a mean core's.
  [[nodiscard]] double SpeedOf(const Job& job) const {
    return speeds.empty() ? 1 : SpeedOfCores(state, job);
  }
  [[nodiscard]] double SpeedOf(WorkerId id) const {
    if (speeds.empty()) return 1;
    const auto known = speeds.find(id);
    return known == speeds.end() ? 1 : known->second;
  }
  [[nodiscard]] std::int32_t TenantOf(const std::string& name) const {
    for (std::size_t t = 1; t < snapshot.tenants.size(); ++t) {
      if (snapshot.tenants[t].name == name) return static_cast<std::int32_t>(t);
    }
    return 0;
  }
  // By data set, with nobody in them.
  [[nodiscard]] std::vector<CachePlaces> PlacesOfDatasets() const;
  // Adds what the grant gives the job on that worker. `reader`: for CachePlaces.
  void AddPlace(std::vector<CachePlaces>& all, std::size_t dataset, std::size_t reader,
                const Job& job, const wire::JobGrant& grant, WorkerId id) const;

  const State& state;
  const std::map<std::uint64_t, DatasetView> views;
  const KeptBytes kept;
  const LinkShares links;
  Snapshot snapshot;
  std::vector<PlacementWorker> workers;
  std::vector<ClusterGroup> groups;  // in the order of snapshot.jobs
  std::size_t ranks = 0;             // number of all ranks
  std::vector<JobId> cancelled;
  std::unordered_map<std::string, double> local_cores;       // of all local workers, by UserKey
  std::vector<EntrySize> entry_sizes;                        // by data set
  std::vector<double> left;                                  // by data set: bytes of `kept`
  std::unordered_map<WorkerId, double> speeds;               // of workers that are no mean cores
  std::unordered_map<JobId, std::vector<WorkerId>> holders;  // workers with entries
};

[[nodiscard]] ClusterView ViewCluster(const PlanRules& rules, const State& state);

}  // namespace headrace::coordinator
