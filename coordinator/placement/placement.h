#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"

// Decides which workers provide a job's cores. A policy says how many cores each job gets; Place
// finds them:
//
//   1. Local workers, which serve only their host and user. A job keeps its cores there while they
//      are granted, then grows there. Then it gets as many of the cores left there as it could use.
//      That may be more than it is granted, unless its lanes stay.
//   2. Other workers of its own host. A job keeps its cores there while they are granted. Then free
//      cores go to jobs of that host: batches are written in place, and those cores are paid for
//      anyway.
//   3. Workers elsewhere. A job keeps its cores there while they are granted.
//   4. The rest comes from workers of the pool with free cores. First come those that the job uses
//      already. Then come those of hosts that it uses, if its samples are cached: the workers of a
//      host keep them together, and hosts do not share. Then come those of the trainer's rack, then
//      all. Among these the smallest comes that covers the need, if its host's link carries it, else
//      the largest.
//   5. A job that got nothing shares the worker that the fewest jobs share, so every job goes on.
//
// A worker that other hosts do not reach (PlacementWorker::home_only) takes part in step 2, and in
// step 5 for jobs of its host.
//
// Batches of a worker on another host cross a network. Leases there are given only as far as the links
// of both hosts carry what those cores make (LinkLedger). Where a link is what limits it, a lease may be
// smaller than kLeastMillicores.
//
// A worker whose cache holds samples of the job keeps a lease of kLeastMillicores, so that they
// stay of use. When the coordinator has just begun, it may not know what a job holds of its
// workers. Then each worker counts as an equal part, and no lease ends. Where the lanes of a job
// stay (ADR 0012, 0019), no lease ends while its worker is there. The reason: a lane that loses its
// worker starts from its beginning elsewhere, and the coordinator does not know which worker has
// which lane. If such a job gets fewer cores, all its leases shrink in the same proportion: batches
// come in turn, so the slowest lane sets the speed of all. Cores move only where a grant or a set
// of workers changed: the same input with the result as `held` gives the same result. Pure. O((jobs
// + workers + leases) log workers).
namespace headrace::coordinator {

constexpr std::int32_t kLeastMillicores = 50;                               // least size of a lease
constexpr std::int64_t kNoLink = std::numeric_limits<std::int64_t>::max();  // no limit is known
// `rate` for the link of a host, bytes/s.
inline std::int64_t WholeBytes(double rate) {
  return rate < 9e18 ? static_cast<std::int64_t>(std::max(0.0, rate)) : kNoLink;
}

struct PlacementWorker {
  WorkerId worker;
  std::int32_t millicores = 1000;
  std::string host;
  bool local = false;  // only for jobs of its host and user
  std::uint32_t uid = 0;
  bool home_only = false;       // only for jobs of its host, of whatever user
  std::int64_t link = kNoLink;  // bytes/s, of its host; the same for all workers of one host
  std::string rack;             // empty: not known
};
struct HeldLease {
  std::int32_t millicores = 0;  // 0: not known any more
  bool holds_cache = false;     // samples of the job
};
struct PlacementJob {
  JobId job;
  std::int64_t millicores = 0;    // granted, of all workers together; 0: no lease at all
  std::int32_t most_workers = 0;  // 0: as many as it takes
  std::string host;               // the trainer's host; compare with PlacementWorker::host
  std::map<WorkerId, HeldLease> held;
  std::int64_t wanted = 0;  // millicores that it could use; more than granted is for step 1 alone
  std::uint32_t uid = 0;    // the trainer's user
  bool lanes_stay = false;
  bool caches = false;                   // its samples are worth a cache
  std::int64_t bytes_per_millicore = 0;  // bytes/s that it sends at most; 0: not known, or nothing
  std::int64_t most_bytes = kNoLink;     // bytes/s that it may have of the network
  std::int64_t link = kNoLink;           // bytes/s, of the trainer's host
  // Bytes/s that programs of `tenant` say of that host: it binds them together, and nobody else.
  std::int64_t said_link = kNoLink;
  std::string tenant;
  std::string rack;  // the trainer's; empty: not known
};

// Says whether a lease of the worker may go to the job: by host and user alone. Pure.
[[nodiscard]] bool MayUse(const PlacementJob& job, const PlacementWorker& worker);

// Gives the millicores of each lease that should hold, for each job of `jobs` (in order of
// arrival). Workers have ascending ids. A lease names only workers of `workers`; leases held on
// others are lost. Only leases of kLeastMillicores may bring a worker's sum over its millicores, or
// what crosses a link over what it carries: no job stands still, and no cache lies idle.
using Leases = std::map<WorkerId, std::int32_t>;
[[nodiscard]] std::vector<Leases> Place(const std::vector<PlacementJob>& jobs,
                                        const std::vector<PlacementWorker>& workers);

}  // namespace headrace::coordinator
