#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/policy/core/divide.h"

// Decides what a policy's cache holds and what that is worth to the jobs (divide.h, steps 2, 3).
namespace headrace::coordinator {

constexpr std::size_t kNotAdmitted = static_cast<std::size_t>(-1);
// A job that reads its data more than once.
struct Reader {
  const JobView* job;
  std::size_t place;  // among the admitted, or kNotAdmitted: it pauses for a round
};
// `places`: positions among the admitted, in the order of Snapshot::jobs. `all` must outlive the
// readers.
[[nodiscard]] std::vector<Reader> ReadersOf(const Snapshot& all,
                                            std::span<const std::size_t> places);

// Gives the cache quotas of data sets for admitted jobs that run at `rates`. All data sets fill together,
// each in proportion to its bytes, to the weights of its readers' tenants, and to a high power of what a
// byte of it saves (fill_cache.cc). Where that differs by orders of magnitude it is a knapsack, and equal
// data sets are cached alike. A data set counts against the cache quota of one tenant: that of the first
// job that reads it. Only what its hosts can use is given (UsefulBytes).
//
// A byte that is cached already counts keep_bonus times as much. More than 1 is for rules that serve jobs
// alike whatever is cached for them. Under others, who has more of the cache is served better, reads
// faster, and would seem to deserve more still.
[[nodiscard]] std::vector<double> FillCache(const Snapshot& snapshot,
                                            std::span<const Reader> readers, const Rates& rates,
                                            const Prices& prices, double keep_bonus);
// Moves quotas by up to a fiftieth of them towards what is cached now: measurements wobble, and a division
// that is hardly better is not worth the bytes that move.
[[nodiscard]] std::vector<double> KeepNearby(const Snapshot& snapshot,
                                             std::span<const Reader> readers,
                                             std::vector<double> quotas);

// Hit shares once the quotas are full (LastingHits), and as they are now (PresentHits).
[[nodiscard]] HitShares LastingHits(const Snapshot& snapshot, std::span<const double> quotas);
[[nodiscard]] HitShares PresentHits(const Snapshot& snapshot, std::span<const double> quotas);

}  // namespace headrace::coordinator
