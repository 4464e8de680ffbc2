#pragma once

#include <optional>
#include <string>

#include "simulate/bound/completion_bound.h"
#include "simulate/bound/utilization_bound.h"
#include "simulate/cluster.h"
#include "simulate/job.h"
#include "simulate/outcome.h"

// The figures of a simulation, and how they are shown.
namespace headrace::simulate {

// What no policy can better (simulate/bound).
struct Bounds {
  CompletionBound completion;
  UtilizationBound use;
};
[[nodiscard]] Bounds BoundsOf(const Trace& trace, const Cluster& cluster,
                              const EngineOptions& options);

struct Summary {
  std::size_t jobs_done = 0;
  std::size_t jobs_refused = 0;  // ask for more GPUs than there are
  // Job completion time: from arrival to the end. Percentiles are interpolated.
  double avg_jct_s = 0;
  double median_jct_s = 0;
  double p99_jct_s = 0;
  double avg_wait_s = 0;  // from arrival to the first GPU
  double makespan_s = 0;  // from the first arrival to the last end
  // GPU-seconds that did not wait for data. gpu_util: over all GPUs for the makespan.
  // gpu_util_held: over the GPU-seconds that jobs held.
  double gpu_util = 0;
  // gpu_util_window: over all GPUs, from the first to the last arrival; 0 if all come at once.
  double gpu_util_held = 0;
  double gpu_util_window = 0;
  // What was left to do at the last arrival, beyond what would be left with GPUs and cores for all at once; a
  // part of all work, in useful GPU-seconds.
  double backlog = 0;
  double cpu_util = 0;  // cores that computed, over all cores for the makespan
  // Fairness of the jobs' mean rates over their rates with a share proportional to their GPUs.
  double fairness_min = 0;
  double fairness_p1 = 0, fairness_p5 = 0;  // percentiles
  double fairness_jain = 0;
  // Finish-time fairness (Themis): a job's completion time over that in a cluster of its own, which is one
  // of as many equal parts as there are jobs in its time, on average. A job of more GPUs than such a part
  // takes turns. Above 1: sharing harms it.
  double finish_time_median = 0, finish_time_p99 = 0;
  double finish_time_unfair = 0;  // share of jobs above 1
  double cache_hit = 0;           // bytes from the cache over bytes read; 0 where nothing is read
  double remote_bytes = 0;
  std::int64_t preemptions = 0;
  std::int64_t decisions = 0;
  std::optional<Bounds> bounds;
};
[[nodiscard]] Summary Summarise(const Trace& trace, const Cluster& cluster, const Outcome& outcome);

// The settings of a simulation, for the reports.
struct Setting {
  std::string trace;
  std::string format;
  std::string policy;
  std::string order;
  std::string cache;
  Cluster cluster;
  double profile_cores = 3;
  bool all_separable = false;
  double noise = 0;
  double restart_s = 0;
  std::uint64_t seed = 1;
};
// One line for each figure.
[[nodiscard]] std::string SummaryTable(const Setting& setting, const Summary& summary);
// One object. Its first keys are avg_jct_s, median_jct_s, p99_jct_s, makespan_s, gpu_util,
// fairness_min, fairness_jain, cache_hit, remote_bytes.
[[nodiscard]] std::string SummaryJson(const Setting& setting, const Summary& summary);
// JobsCsv has a row for each job, in order of completion. TimelineCsv has a row for each change of
// rates. CacheCsv has a row for each job that reads data at each of these changes.
[[nodiscard]] std::string JobsCsv(const Trace& trace, const Outcome& outcome);
[[nodiscard]] std::string TimelineCsv(const Outcome& outcome);
[[nodiscard]] std::string CacheCsv(const Trace& trace, const Outcome& outcome);

// The shortest text that reads back as the same number.
[[nodiscard]] std::string NumberText(double value);

}  // namespace headrace::simulate
