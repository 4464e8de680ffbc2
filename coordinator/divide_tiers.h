#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/cluster_planner.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Divides what jobs may cache on one worker, `grants`, over its tiers, fastest first: for each
// grant the bytes in each tier. If a tier has less room than is left of the grants, each job gets
// a part in proportion. The last tier gets what is left, so that nothing is lost by rounding.
// A pure function; O(grants * tiers).
[[nodiscard]] std::vector<std::vector<wire::TierBytes>> DivideTiers(
    const std::vector<wire::TierBytes>& tiers, const std::vector<std::uint64_t>& grants);

// Divides the caches of the plan's grants over the tiers of their workers. A worker with one tier needs no division.
void GrantTiers(const State& state, ClusterPlan& plan);

}  // namespace headrace::coordinator
