#pragma once

#include "base/result.h"
#include "simulate/job.h"
#include "simulate/outcome.h"
#include "simulate/scheduler.h"
#include "simulate/start.h"

// Trains the jobs of a trace on a virtual clock. Between events all rates are constant. Events are
// arrivals, completions, ends of epochs, and ramp steps. Others are control periods while anything
// still changes, and rounds if the scheduler takes GPUs away. A job gets all its GPUs at once, on
// any hosts. Cores are one pool, except for jobs whose input cannot leave their host. These keep at
// most their own share while they run. Stopping and resuming a job costs EngineOptions::restart_s.
namespace headrace::simulate {

// A hit share that has moved by less counts as the same.
constexpr double kLeastDrift = 1e-3;

// The same arguments give the same outcome, to the bit. kInternal: the scheduler gave more than
// there is. kInfeasible: some jobs can never resume.
[[nodiscard]] Result<Outcome> Simulate(const Trace& trace, const Cluster& cluster, CacheMode cache,
                                       const EngineOptions& options, Scheduler& scheduler);

// The same from `start` on. It ends at `until_s`; if that is kUnlimited, once all jobs are done whose number of
// iterations is finite. Others are such of which nobody knows how long they will run. Controllers begin anew, so
// a job's demand is first what is true of it. `end`: where it stopped; may be nullptr.
// kInvalidArgument: the start is not one of this trace on this cluster.
[[nodiscard]] Result<Outcome> SimulateFrom(const Start& start, double until_s, Start* end,
                                           const Trace& trace, const Cluster& cluster,
                                           CacheMode cache, const EngineOptions& options,
                                           Scheduler& scheduler);

}  // namespace headrace::simulate
