#pragma once

#include <set>

#include "base/ids.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// Chooses the member of a pool that can best be spared. It prefers members whose jobs have no lanes
// that would start again elsewhere. Of those it takes the one with the smallest sum of leases, then
// the youngest. Invalid: no member is leasable. Pure.
[[nodiscard]] WorkerId LeastUsed(const State& state, const std::set<WorkerId>& members);

}  // namespace headrace::coordinator
