#pragma once

#include "base/result.h"
#include "simulate/job.h"
#include "simulate/outcome.h"
#include "simulate/scheduler.h"

// Trains the jobs of a trace on a virtual clock. Between events all rates are constant; events are
// arrivals, completions, ends of epochs, steps of a ramp, control periods while anything still
// changes, and rounds where the scheduler takes GPUs away. Jobs get all their GPUs at once, on any
// hosts; cores are one pool, except those of jobs whose input cannot leave their host: they keep at
// most their own share, while they run. To stop and to go on costs nothing.
namespace headrace::simulate {

// The same arguments give the same outcome, to the bit. kInternal: the scheduler gave more than
// there is; kInfeasible: jobs are left that never go on.
[[nodiscard]] Result<Outcome> Simulate(const Trace& trace, const Cluster& cluster, CacheMode cache,
                                       const EngineOptions& options, Scheduler& scheduler);

}  // namespace headrace::simulate
