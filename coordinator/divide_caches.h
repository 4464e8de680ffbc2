#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "coordinator/cache_places.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/policy/core/policy.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// A job that reads a data set.
struct CacheUser {
  const Job* job;
  std::size_t dataset;
  std::map<WorkerId, wire::JobGrant>* grants;  // those that should hold, without their cache
  std::uint64_t name = 0;                      // of the data set, for workers; 0: it reads none now
  bool encoded = false;                        // what should be kept of its samples
  std::int32_t nodes = 0;                      // as DatasetView's
  bool wide = false;                           // hosts share them
  bool bounded = false;  // its tenant or its data set has a bound, which a wobble must not exceed
};

// Writes into grants what each job may cache on each worker: the quota of its data set, divided over the
// hosts of its jobs (DivideOverHosts), there over their workers, and there over the jobs. A worker that
// has not yet said what it holds is not told to give any of it up. That happens when the coordinator has
// just begun. Where the kept form changes, the quota is 0 for one period: so what is there goes. `quotas` and `places` are by data set. Only the number of a worker's jobs
// counts in `places`. A quota that shrinks does so as others fill the room. `kept`: what is no room.
void DivideCaches(const State& state, std::span<const Dataset> datasets,
                  std::span<const double> quotas, std::span<const CachePlaces> places,
                  const KeptBytes& kept, std::span<const CacheUser> users);

// Of a job between two loaders (Job::idle), on one worker: what it has there stays as what ended jobs have left. Its next
// loader most often reads the same. `held`: the grant that holds.
void SetIdle(const wire::JobGrant& held, wire::JobGrant& grant);

}  // namespace headrace::coordinator
