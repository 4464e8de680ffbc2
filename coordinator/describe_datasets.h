#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "coordinator/cluster_planner.h"
#include "coordinator/dataset_view.h"
#include "coordinator/scaling/advice.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// What `headrace cache` and `headrace datasets` show, leaves of stages too: as a data set of each program. Pure.
[[nodiscard]] std::vector<wire::DatasetStatus> DescribeDatasets(
    const State& state, const std::map<std::uint64_t, DatasetView>& views);

// What more of the caches could do for the job, and what keeps it from that. `views`: of the same state.
[[nodiscard]] CacheOffer CacheOfferOf(const PlanRules& rules, const State& state, const Job& job,
                                      const std::map<std::uint64_t, DatasetView>& views);

}  // namespace headrace::coordinator
