#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/policy/core/policy.h"
#include "coordinator/scaling/prices.h"

// What the operator says of all jobs together, for the planner.
namespace headrace::coordinator {

struct PlanRules {
  const Policy* policy = nullptr;   // outlives the rules
  std::vector<Tenant> tenants;      // beside the default one: weight 1, no quota
  double source_rate = kUnlimited;  // bytes/s of all sources together
  // Every job leases every worker with at least kLeastMillicores, since private workers run anyway.
  bool lease_all = false;
  std::optional<double> floor;                  // see Snapshot
  bool shared_cache_first = false;              // the same
  HourPrices prices;                            // for which the cheapest pool grows
  std::vector<double> dearer_core_prices = {};  // of the other pools, ascending
  bool replicas = true;  // workers may keep copies of what others own: GrantReplicas
  std::map<std::string, double> dataset_bytes;  // most that is cached, by the data set's name
};

}  // namespace headrace::coordinator
