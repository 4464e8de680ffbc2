#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/policy/core/divide.h"

// What a policy's cache is filled with, and what that is worth to the jobs (divide.h, steps 2, 3).
namespace headrace::coordinator {

struct Prices {
  double cores = 0, source = 0;  // of a core, of a byte/s
};

constexpr std::size_t kNotAdmitted = static_cast<std::size_t>(-1);
// A job that comes back to its data.
struct Reader {
  const JobView* job;
  std::size_t place;  // among the admitted, or kNotAdmitted: it pauses for a round
};
// `places`: among the admitted, as Snapshot::jobs. `all` outlives the readers.
[[nodiscard]] std::vector<Reader> ReadersOf(const Snapshot& all,
                                            std::span<const std::size_t> places);

// Cache quotas for data sets, for admitted jobs that go at `rates`. Tenants' cache quotas bind the
// tenant of the first job that reads the data set.
[[nodiscard]] std::vector<double> FillCache(const Snapshot& snapshot,
                                            std::span<const Reader> readers, const Rates& rates,
                                            const Prices& prices);

// Once the quotas are full, and as it is now.
[[nodiscard]] HitShares LastingHits(const Snapshot& snapshot, std::span<const double> quotas);
[[nodiscard]] HitShares PresentHits(const Snapshot& snapshot, std::span<const double> quotas);

}  // namespace headrace::coordinator
