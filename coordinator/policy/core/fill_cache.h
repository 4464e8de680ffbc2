#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/policy/core/divide.h"

// Decides what a policy's cache holds and what that is worth to the jobs (divide.h, steps 2, 3).
namespace headrace::coordinator {

struct Prices {
  double cores = 0, source = 0;  // price of a core, and of a byte/s
};

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

// Gives the cache quotas of data sets for admitted jobs that run at `rates`. A data set counts
// against the cache quota of one tenant: that of the first job that reads it. Only what its hosts
// can use is given (UsefulBytes).
[[nodiscard]] std::vector<double> FillCache(const Snapshot& snapshot,
                                            std::span<const Reader> readers, const Rates& rates,
                                            const Prices& prices);

// Hit shares once the quotas are full (LastingHits), and as they are now (PresentHits).
[[nodiscard]] HitShares LastingHits(const Snapshot& snapshot, std::span<const double> quotas);
[[nodiscard]] HitShares PresentHits(const Snapshot& snapshot, std::span<const double> quotas);

}  // namespace headrace::coordinator
