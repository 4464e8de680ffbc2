#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "coordinator/plan_rules.h"
#include "coordinator/policy/core/policy.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

// Turns what the coordinator knows into what each job may use: State -> Snapshot (cluster_view.h) -> (policy) ->
// Allocation -> (placement) -> leases with grants. Pure.
//
// Ranks of one program (jobs of one group) are one job to the policy: the slowest rank sets the
// speed of all. The cores are then divided between the ranks by their demand. Cores of workers are counted as mean
// cores (estimate/worker_speed.h) until a lease is written down. A job without
// measurements asks for kStartCores, or for all cores of its own host if they are more.
namespace headrace::coordinator {

struct JobPlan {
  JobId job;
  // The leases that should hold, and what the job may cache on workers without one: CacheMates.
  std::map<WorkerId, wire::JobGrant> grants;
  std::string reason;  // why there are none; empty: admitted
  GrantWhy why;        // if it is admitted: why it has no more; of all its ranks together
};
struct ClusterPlan {
  std::vector<JobPlan> jobs;  // all that run, ascending ids
  // Cores that jobs ask for in all, within their tenants' quotas, beyond the local workers of their
  // hosts. A job without measurements counts as one core, so that a pool is not grown on a guess.
  // One for which no core is worth its price counts as its local workers.
  double demand_cores = 0;
  // The same at each of PlanRules::dearer_core_prices: no more than at a lower price.
  std::vector<double> dearer_demand_cores = {};
};

// REQUIRES: rules.policy.
[[nodiscard]] ClusterPlan MakePlan(const PlanRules& rules, const State& state);

}  // namespace headrace::coordinator
