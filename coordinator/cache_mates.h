#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "coordinator/placement/placement.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// The workers that keep samples together, whoever uses them (CacheHostOf). A job that uses one of them
// keeps its samples on all of them. So the owner of an entry is the same worker for every job, now and
// later, whichever workers the job has leases of: what one job has made, any other finds. Pure.
class CacheMates {
 public:
  // Both outlive it. `workers`: those that may be used, by ascending ids.
  CacheMates(const State& state, const std::vector<PlacementWorker>& workers);

  // Adds grants without cores, of cache alone, for the workers with room that keep samples together with
  // those of `grants`. Local workers are for jobs of their own user and host alone (MayUse). `entry_bytes`:
  // of the job's data set.
  void AddGrants(const PlacementJob& job, double entry_bytes,
                 std::map<WorkerId, wire::JobGrant>& grants) const;

 private:
  const State& state_;
  std::unordered_map<std::string, std::vector<const PlacementWorker*>> by_host_;
};

}  // namespace headrace::coordinator
