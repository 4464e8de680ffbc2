#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/cluster_planner.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

// What a worker shall do with its cache beside keeping to quotas. Pure.
namespace headrace::coordinator {

// Adds to a directive what stays in the worker's cache (pinned data sets), what it gives up (drops), and
// what it fills while it is idle. It fills a data set that somebody wants warm, and, where the source has
// a limit (PlanRules::source_rate), each one that has less than its quota: with the bandwidth that no job
// uses, divided over those who fill. A worker of a host that shares samples fills a part of them.
// Uses State::fill_rates. REQUIRES: the directive has its grants.
void AddCacheOrders(const PlanRules& rules, const State& state, const Worker& worker,
                    wire::WorkerDirective& directive);

// By tenant: bytes/s for each job and worker that fills, of what no job uses now: of the supply, and of
// the tenant's quota. FillOrder::kNoBound: the source has no limit.
[[nodiscard]] std::map<std::string, std::uint64_t> FillRates(const PlanRules& rules,
                                                             const State& state);

}  // namespace headrace::coordinator
