#pragma once

#include <vector>

namespace headrace::simulate {

// How far a job has come. A default one: it has not begun.
struct JobStart {
  bool running = false;  // it has GPUs
  bool ended = false;
  double done = 0;          // samples
  double start_s = 0;       // when it first had GPUs
  double run_s = 0;         // time with GPUs
  double useful_gpu_s = 0;  // as JobOutcome
  int preemptions = 0;
  double restart_left_s = 0;  // until it makes steps again after a stop
  double unread = 0;          // bytes of its data set in this epoch; 0: it begins one
  double cached_share = 0;    // part of these that the cache has, 0..1
  // In force at this moment. The first decision replaces them.
  double cores = 0;
  double source_rate = 0;  // bytes/s
  friend bool operator==(const JobStart&, const JobStart&) = default;
};

// The moment at which a simulation begins, or at which it stopped.
struct Start {
  double time_s = 0;
  std::vector<JobStart> jobs;        // as Trace::jobs
  std::vector<double> cached_bytes;  // as Trace::datasets; none: the cache is empty
  friend bool operator==(const Start&, const Start&) = default;
};

}  // namespace headrace::simulate
