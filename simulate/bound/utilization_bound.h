#pragma once

#include <span>

#include "simulate/bound/job_need.h"

namespace headrace::simulate {

// The most that any policy can reach of the use of GPUs, 0..1 (Summary has the same figures of a schedule). It
// follows from the work alone: from what each job needs at least of GPUs, cores and the source, and from when
// it comes.
struct UtilizationBound {
  double makespan_s = 0;  // the least
  double gpu_util = 0;    // over all GPUs for the makespan
  double gpu_util_held =
      0;  // over the GPUs that jobs hold: only work that stays on its host wastes some
  double gpu_util_window =
      0;  // over all GPUs, from the first to the last arrival; 0: all arrive at once
};

// `needs`: in order of arrival. The makespan is at least the time of each job from its arrival, and, for each
// resource and each arrival, the time of that plus all work that comes from then on. In the window of arrivals
// a job gets no further than its greatest speed takes it. Of what comes after a time in it, no more is done
// than all GPUs do. Of the whole, no more than all cores feed. O(n log n).
[[nodiscard]] UtilizationBound BoundUtilization(std::span<const JobNeed> needs, int gpus);

}  // namespace headrace::simulate
