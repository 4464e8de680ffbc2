#pragma once

#include <span>

#include "simulate/bound/job_need.h"

namespace headrace::simulate {

struct CompletionBound {
  // The average completion time of the jobs, from arrival to end, is at least this under every policy
  // (prices.h has the proof).
  double avg_jct_s = 0;
  // No prices give more than this: some schedule in the terms of the bound has it. The bound of the best
  // prices is between the two.
  double at_most_s = 0;
};

struct BoundOptions {
  std::size_t intervals = 512;  // of prices, at most
  int rounds = 80;              // of the search, for each number of intervals
};

// Searches prices by the volume algorithm (Barahona and Anbil, Mathematical Programming 87, 2000), first with
// few intervals, then with more. The result is a bound wherever the search ends, and the same for the same
// needs. `needs`: in order of arrival. O(rounds * jobs * intervals * log intervals) at worst.
[[nodiscard]] CompletionBound BoundCompletion(std::span<const JobNeed> needs,
                                              const BoundOptions& options = {});

}  // namespace headrace::simulate
