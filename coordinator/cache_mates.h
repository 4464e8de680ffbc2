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

// The workers of a host that keep samples together, whoever uses them (CacheHostOf). A job that uses one of
// them keeps its samples on all of them. So the owner of an entry is the same worker for every job, now and
// later, whichever workers the job has leases of: what one job has made, any other finds. Where hosts share
// samples, that holds for jobs on the same hosts: a host without a lease is not drawn in, since a job would
// then have a grant on each worker of the cluster. Pure.
class CacheMates {
 public:
  // Both outlive it. `workers`: those that may be used, by ascending ids.
  CacheMates(const State& state, const std::vector<PlacementWorker>& workers);

  // Adds grants without cores, of cache alone, for the workers with room that keep samples together with
  // those of `grants`. Local workers are for jobs of their own user and host alone (MayUse). `entry_bytes`,
  // `wide`: of the job's data set; small entries are shared only where hosts share.
  void AddGrants(const PlacementJob& job, double entry_bytes, bool wide,
                 std::map<WorkerId, wire::JobGrant>& grants) const;

 private:
  const State& state_;
  std::unordered_map<std::string, std::vector<const PlacementWorker*>> by_host_;
};

}  // namespace headrace::coordinator
