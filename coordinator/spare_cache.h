#pragma once

#include <map>
#include <span>
#include <string>

#include "coordinator/cluster_planner.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/policy/core/policy.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// Gives what the policy leaves of the workers' caches to jobs that it plans no cache for: they read no data
// set that is known, but their stages look there, for objects (headrace.fs) and for what lanes have read. A
// new job has room before it has looked, so that its first epoch is kept. They have equal parts of what
// is left on each worker that they lease, within their own bounds, and of what is left of a bound that they have
// together: their tenant's quota, and `bounds`, of data sets by name (PlanRules::dataset_bytes; all jobs of a program
// have one). `tenants`: the first is that of jobs whose tenant is none of them. `kept`: what is no room. In each plan
// the policy's grants come first, so this room goes when a data set wants it.
void GrantSpareCaches(const State& state, std::span<const Tenant> tenants,
                      const std::map<std::string, double>& bounds, const KeptBytes& kept,
                      ClusterPlan& plan);

}  // namespace headrace::coordinator
