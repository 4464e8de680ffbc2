#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"

// Which workers a job's cores are on. A policy says how many cores each job gets; Place finds them:
//
//   1. Local workers, which serve nobody but their host and user: what a job holds of them it
//      keeps, as far as it is still granted, then it grows there, then it has of what is left as
//      much as it could use (which may be more than it is granted, unless its lanes stay).
//   2. Other workers of its own host: what it holds it keeps, as far as it is still granted, then
//      free cores go to the jobs of their own host. There a batch is written in place, and those
//      cores are paid for anyway.
//   3. What a job holds elsewhere it keeps, as far as it is still granted.
//   4. The rest comes from workers of the pool that have free cores: first those that the job uses
//      already, then the smallest that covers the need, else the largest.
//   5. A job that got nothing shares the worker that is divided among the fewest: everybody
//      goes on.
//
// A worker that holds samples of the job in its cache keeps a lease of kLeastMillicores, so that
// they stay of use. Where it is not known what a job holds of its workers (the coordinator has just
// begun), each counts as an equal part, and none ends. Where the lanes of a job stay (ADR 0012,
// 0019), no lease ends while its worker is there: a lane whose worker loses it is made again
// elsewhere from its beginning, and nobody here knows which worker has which. Less is granted then
// in the same proportion on all of them, because batches come in turn and the slowest lane is the
// speed of all. Cores move only where a grant or a set of workers changed: the same input with the
// result as `held` gives the result again. Pure. O((jobs + workers + leases) log workers).
namespace headrace::coordinator {

constexpr std::int32_t kLeastMillicores = 50;  // of a lease

struct PlacementWorker {
  WorkerId worker;
  std::int32_t millicores = 1000;
  std::string host;
  bool local = false;  // for jobs of its host and user alone
  std::uint32_t uid = 0;
};
struct HeldLease {
  std::int32_t millicores = 0;  // 0: not known any more
  bool holds_cache = false;     // samples of the job
};
struct PlacementJob {
  JobId job;
  std::int64_t millicores = 0;    // granted, of all workers together; 0: no lease at all
  std::int32_t most_workers = 0;  // 0: as many as it takes
  std::string host;               // of the trainer; compare with PlacementWorker::host
  std::map<WorkerId, HeldLease> held;
  std::int64_t wanted = 0;  // millicores that it could use; more than granted is for step 1 alone
  std::uint32_t uid = 0;    // of the trainer
  bool lanes_stay = false;
};

// Millicores of each lease that should hold, for each job of `jobs` (in order of arrival). Workers
// have ascending ids. A lease may name only workers of `workers`; what is held of others is lost.
// The sum of a worker's leases exceeds its millicores only by leases of kLeastMillicores.
using Leases = std::map<WorkerId, std::int32_t>;
[[nodiscard]] std::vector<Leases> Place(const std::vector<PlacementJob>& jobs,
                                        const std::vector<PlacementWorker>& workers);

}  // namespace headrace::coordinator
