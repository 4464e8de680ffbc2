#pragma once

#include <span>
#include <vector>

#include "simulate/bound/job_need.h"

namespace headrace::simulate {

// A good schedule in the terms of the bound (prices.h): jobs run at any part of their greatest speed, and are
// pre-empted for nothing. It starts the search for prices, and says how far that may get: no prices bound
// the completion times by more than this schedule has.
struct Fluid {
  double end_s = 0;
  std::vector<double> completions;  // in the order of the needs
  struct Step {
    double begin_s = 0;
    double done = 0;    // jobs for each second: the sum of parts of jobs that are done in one
    bool full = false;  // some job had to wait or to run slower
  };
  std::vector<Step> steps;  // in order; each lasts until the next one
};

// At all times those jobs run first whose remaining work is least, counted as the sum of the parts of the
// resources that it takes. O(events * jobs that are there).
[[nodiscard]] Fluid RunFluid(std::span<const JobNeed> needs);

}  // namespace headrace::simulate
