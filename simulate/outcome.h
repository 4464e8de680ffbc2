#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The result of a simulation.
namespace headrace::simulate {

struct JobOutcome {
  std::size_t job = 0;  // position in Trace::jobs
  double start_s = 0;   // when it first had GPUs
  double finish_s = 0;
  double run_s = 0;         // time with GPUs
  double useful_gpu_s = 0;  // GPU-seconds of run_s that did not wait for data
  // Its mean rate while it ran, over the rate with a proportional share. That is a share of cores,
  // cache and bandwidth of the source in proportion to its GPUs.
  double fairness = 0;
  int preemptions = 0;
};

// State from `time_s` on.
struct TimelinePoint {
  double time_s = 0;
  double gpus = 0;         // held by jobs
  double useful_gpus = 0;  // not waiting for data
  double cores = 0;        // computing
  double granted_cores = 0;
  double cached_bytes = 0;
  double source_rate = 0;   // bytes/s
  double network_rate = 0;  // bytes/s between hosts, where links are known
  int waiting = 0;          // jobs
};

// What the cache holds for a job, from `time_s` on.
struct CachePoint {
  double time_s = 0;
  std::size_t job = 0;      // position in Trace::jobs
  double quota_bytes = 0;   // quota of its data set in the cache
  double cached_bytes = 0;  // the part of its data set that is cached
  double hit = 0;           // share of its reads that the cache answers: what is in effect
  double wait = 0;          // share of its time that its trainer waits for data
};

struct Outcome {
  std::vector<JobOutcome> jobs;      // in order of completion
  std::vector<std::size_t> refused;  // jobs that ask for more GPUs than there are
  std::vector<TimelinePoint> timeline;
  std::vector<CachePoint> cache;  // for running jobs; empty unless requested
  double first_arrival_s = 0;
  double end_s = 0;  // last completion
  double useful_gpu_s = 0;
  double held_gpu_s = 0;
  double hit_bytes = 0;
  double remote_bytes = 0;
  double core_s = 0;  // work on input
  std::int64_t decisions = 0;
};

}  // namespace headrace::simulate
