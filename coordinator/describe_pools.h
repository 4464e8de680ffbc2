#pragma once

#include <vector>

#include "coordinator/pool_report.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// The pools as people see them. `workers`: those of the coordinator, for the cores that members have. Pure.
[[nodiscard]] std::vector<wire::PoolStatus> DescribePools(
    const PoolReport& report, const std::vector<wire::WorkerStatus>& workers);

}  // namespace headrace::coordinator
