#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "coordinator/policy/core/fair_share.h"
#include "coordinator/policy/core/policy.h"

// Code that the policies share. A policy says in which order jobs are admitted, and how rates are
// divided for given hit shares. The cache is then decided together with them:
//
//   1. Jobs get their GPUs in the policy's order (Admit).
//   2. A byte of a data set's cache saves, each second, (miss_cost - hit_cost) / d core-seconds and
//      miss_bytes / d bytes of the source for each sample/s of its jobs. With prices for both, the
//      cache goes to the data sets of the highest value a byte (SiloD's rule; it has the source
//      alone), continuously (FillCache). The prices are searched over a small grid: the policy's own
//      objective, with that cache in effect, decides.
//   3. Rates are divided once more with what the cache holds *now*: a quota that shrinks counts at
//      once, one that grows when the next epoch reads it.
namespace headrace::coordinator {

// Share that jobs get beyond the formula's need while cores are left over, since batches differ in
// size.
constexpr double kHeadroom = 0.1;

struct Prices {
  double cores = 0, source = 0;  // price of a core, and of a byte/s
};
// Shares of reads that the cache answers, for each job of a snapshot.
struct HitShares {
  std::vector<double> now;      // rates are divided with these
  std::vector<double> lasting;  // once what is cached for the job has been read
};
// `admitted` has only these jobs, in order of arrival.
using Divide = std::function<Division(const Snapshot& admitted, const HitShares& hits)>;

// Gives positions in Snapshot::jobs: higher priority first, then as `before` says, then in order of
// arrival.
[[nodiscard]] std::vector<std::size_t> Order(
    const Snapshot& snapshot, const std::function<bool(const JobView&, const JobView&)>& before);

// Most seconds by which a job may have come later than the oldest one that waits, and go before it.
constexpr double kMostAhead = 3600;
// `order`, with the jobs first, of those of one priority that wait, whose data set is cached by half or
// read by a running job: what is cached is then used before it has to go (Fluid). Nobody waits without end
// for it: see kMostAhead.
[[nodiscard]] std::vector<std::size_t> SharedFirst(const Snapshot& snapshot,
                                                   std::span<const std::size_t> order);

// Decides which jobs get GPUs. Running jobs keep theirs unless `preempts`. The others take what is
// left in `order`. Smaller jobs pass a job that does not fit. Writes `admitted` and `reason`.
void Admit(const Snapshot& snapshot, std::span<const std::size_t> order, bool preempts,
           std::vector<Grant>& grants);

// In the functions below, all jobs of the snapshot are admitted, unless a line says otherwise.
//
// Resources, of the supply or of a tenant's quota, of which there is less than the jobs ask for.
struct Scarcity {
  bool cores = false;
  bool source = false;
};
[[nodiscard]] Scarcity ScarcityOf(const Snapshot& admitted, std::span<const double> hits);
// Sum over jobs of gpus * rate / ready_rate: GPUs that compute.
[[nodiscard]] double BusyGpus(const Snapshot& admitted, const Rates& rates);
// Makes the whole decision, as above. Pinned cores of admitted jobs are taken off the supply first.
[[nodiscard]] Allocation AllocateJointly(const Snapshot& snapshot,
                                         std::span<const std::size_t> order, bool preempts,
                                         const Divide& divide);

}  // namespace headrace::coordinator
