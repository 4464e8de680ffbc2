#include <algorithm>
#include <cmath>

#include "simulate/engine.h"
#include "simulate/what_if/advise.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;

constexpr double kHour = 3600;

struct Run {
  Outcome outcome;
  Start end;
};

Result<Run> Simulate(const LiveState& state, const coordinator::Policy& policy, double until_s) {
  PolicyScheduler scheduler(policy);
  Run run;
  HR_TRY(run.outcome, SimulateFrom(state.start, until_s, &run.end, state.trace, state.cluster,
                                   CacheMode::kJoint, EngineOptions{}, scheduler));
  return run;
}

JobStart StartOf(const LiveState& state, std::size_t i) {
  return state.start.jobs.empty() ? JobStart{} : state.start.jobs[i];
}

}  // namespace

Result<Forecast> Foresee(const LiveState& state, const coordinator::Policy& policy) {
  Forecast forecast;
  const std::size_t jobs = state.trace.jobs.size();
  forecast.left_s.assign(jobs, kUnlimited);
  const bool any_known = std::ranges::any_of(
      state.trace.jobs, [](const Job& job) { return std::isfinite(job.iterations); });
  if (any_known) {
    HR_TRY(const Run all, Simulate(state, policy, kUnlimited));
    for (const JobOutcome& each : all.outcome.jobs) {
      forecast.left_s[each.job] = each.finish_s - state.start.time_s;
      forecast.mean_left_s += forecast.left_s[each.job];
    }
    if (!all.outcome.jobs.empty()) {
      forecast.mean_left_s /= static_cast<double>(all.outcome.jobs.size());
    }
  }
  HR_TRY(const Run hour, Simulate(state, policy, state.start.time_s + kHour));
  double held = 0, useful = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobStart start = StartOf(state, i);
    // Samples after its end are none, so all that it lacked then are those of the hour.
    forecast.hour_samples.push_back(hour.end.jobs[i].done - start.done);
    held += (hour.end.jobs[i].run_s - start.run_s) * state.trace.jobs[i].gpus;
    useful += hour.end.jobs[i].useful_gpu_s - start.useful_gpu_s;
  }
  forecast.hour_s = hour.end.time_s - state.start.time_s;
  forecast.stall_share = held > 0 ? std::clamp(1 - useful / held, 0.0, 1.0) : 0;
  return forecast;
}

}  // namespace headrace::simulate
