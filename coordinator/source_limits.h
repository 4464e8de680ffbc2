#pragma once

#include <cstddef>

#include "coordinator/cluster_planner.h"

// What each rank, and each of its workers, may read of the source, from what a policy gave its job. All functions are
// pure.
namespace headrace::coordinator {

// The rate of a rank whose job gets all of the source that it needs, bytes/s; 0: it gets less. `share`: the rank's
// of the job. Its workers, of which it has `leases`, each read by chance, so it gets more than it needs on average.
// For that nobody has more than `equal`, or others would pay too much.
[[nodiscard]] double SourceWithRoom(const JobView& view, const Grant& grant, double share,
                                    std::size_t leases, double equal);

// What one of `ranks` ranks may read, whatever its policy gives, of `most` bytes/s; 0 where that is no limit. `known`:
// it was measured. Before, nobody knows that it reads at all, and it must be able to show its need.
[[nodiscard]] double LeastOfSource(double most, std::size_t ranks, bool known);

// Gives each worker of the job its part of `total` bytes/s. `read_bytes`: of one of its reads. REQUIRES: all grants
// are leases: one of cache alone reads nothing, and would keep its part from the others.
void LimitSource(const State& state, double total, double read_bytes, JobPlan& plan);

}  // namespace headrace::coordinator
