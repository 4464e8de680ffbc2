#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "coordinator/policy/core/policy.h"

// What a job has a right to, and how a division keeps to it. Every policy divides rates in this frame:
//
//   1. Classes of priority are served from the highest. Until its turn comes, a lower class keeps
//      kLeastShare of its demand.
//   2. In a class, each job has a fair share: of cores and of the source in proportion to its GPUs, times
//      the weight of its tenant. Of that share it surely has the part Snapshot::floor, as far as it asks
//      for it. max_min_fair has no use for a floor: its rule is the highest one that there can be.
//   3. The policy's own rule divides the rest, continuously (pour.h): equal jobs stay equal.
namespace headrace::coordinator {

// Share of its demand that every job of a lower class of priority has. It is less if these shares sum to
// more than half of a resource. If they exceed half of a tenant's quota, it is less for that tenant's
// jobs alone.
constexpr double kLeastShare = 0.05;

// Samples/s for each job of a snapshot.
using Rates = std::vector<double>;

// GPUs, times the weight of the tenant.
[[nodiscard]] double WeightOf(const Snapshot& snapshot, const JobView& job);

// Rate that the job asks for, within its limits: ready_rate, most_cores.
[[nodiscard]] double AskedRate(const JobView& job, double hit);

// What is left of the supply and of each tenant's quota.
struct Budget {
  Resources supply;
  std::vector<Resources> quotas;

  explicit Budget(const Snapshot& snapshot);
  // A negative rate gives back.
  void Take(const JobView& job, double hit, double rate);
};

// In the functions below, all jobs of the snapshot are admitted, and `hits` has the share of reads that the
// cache answers, for each of them.

// A share of cores and of bandwidth.
struct FairShare {
  double cores = 0;
  double source_rate = 0;
};
// The fair shares of `members`, positions of jobs, in a budget. A resource is shared by those who need
// any. The quota of a tenant is shared likewise by its jobs.
[[nodiscard]] std::vector<FairShare> FairShares(const Snapshot& snapshot,
                                                std::span<const double> hits,
                                                std::span<const std::size_t> members,
                                                const Budget& budget);
// The rate with the part `part` of a fair share, and no more than the job asks for.
[[nodiscard]] double RateOfShare(const JobView& job, double hit, const FairShare& share,
                                 double part);

// The amounts that jobs ask for, and the most they can have.
struct Need {
  double cores = 0;
  double source = 0;
  Resources limit;
};
// The needs for each tenant and its quota; the last one: for all jobs and the supply.
[[nodiscard]] std::vector<Need> NeedsOf(const Snapshot& snapshot, std::span<const double> hits);

// The rate with a whole fair share, however little the trainer takes; it takes all that it can from a share
// without limit.
[[nodiscard]] double MostOfShare(const JobView& job, double hit, const FairShare& share);

// Samples/s for each job of a snapshot, and why they are no more.
struct Division {
  Rates rates;
  double objective = 0;  // of the highest class; larger is better
  // By job. The limit at which its rate stopped rising, as LimitOf says; -1: it has what it asks for.
  std::vector<std::int32_t> stopped;
  // By job: what the rule likes in it; a job that is liked more rises faster. Empty: all are equal.
  std::vector<double> preference;
  double floor = 0;  // part of a fair share that was sure
};
// Numbers of limits: of cores and of bandwidth, of the supply (tenant -1) or of a tenant's quota.
enum class LimitOn : std::uint8_t { kCores, kSource };
[[nodiscard]] constexpr std::int32_t LimitOf(LimitOn what, std::int32_t tenant = -1) {
  return 2 * (tenant + 1) + (what == LimitOn::kSource ? 1 : 0);
}

// Raises the rates of `members`, together, in proportion to `weights`, until each has what it asks for or
// something that it needs is used up; takes what that needs from the budget. Writes Division::rates and
// ::stopped. Returns the level at which the first job had to stop short, its rise over its weight;
// kUnlimited: none had to.
double PourRates(const Snapshot& snapshot, std::span<const double> hits,
                 std::span<const std::size_t> members, std::span<const double> weights,
                 Budget& budget, Division& division);

// Divides a budget between the jobs at `members`, which are of one class of priority: writes their rates,
// 0 before, and takes what they need. Returns the objective of the policy for these jobs.
using ClassRule =
    std::function<double(std::span<const std::size_t> members, Budget& budget, Division& division)>;
// The work for a class grows with its own jobs, because there may be as many priorities as jobs.
[[nodiscard]] Division DivideByPriority(const Snapshot& snapshot, std::span<const double> hits,
                                        const ClassRule& rule);

}  // namespace headrace::coordinator
