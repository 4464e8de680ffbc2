#pragma once

#include <set>

#include "base/ids.h"
#include "coordinator/state/state.h"

namespace headrace::coordinator {

// The member of a pool that can best be spared: none of whose jobs has lanes that would be made
// again elsewhere, if there is one; of those the one whose leases are the smallest together; of
// equal ones the youngest. Invalid: none of them is leasable. Pure.
[[nodiscard]] WorkerId LeastUsed(const State& state, const std::set<WorkerId>& members);

}  // namespace headrace::coordinator
