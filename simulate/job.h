#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/estimate/estimator.h"

// What is simulated: jobs and the data that they read (docs/reference/traces.md).
namespace headrace::simulate {

// After `from_s` seconds of running, the trainer's own steps are `factor` times as fast.
struct Ramp {
  double from_s = 0;
  double factor = 1;
};

struct Job {
  std::string id;
  std::string model;
  std::string tenant;
  double arrival_s = 0;
  int gpus = 1;
  int priority = 0;
  double iterations = 0;  // may have a fraction
  double batch = 1;       // samples an iteration, of all its GPUs
  double step_s = 0;      // an iteration when data is always ready: GPUs and network
  // Core-seconds of input work for each iteration: read and decoded, and from the cache.
  double input_core_s = 0;
  double hit_core_s = 0;
  bool separable = true;      // false: its input work can't leave the trainer's host
  std::int32_t dataset = -1;  // position in Trace::datasets; -1: it reads nothing that is counted
  double sample_bytes = 0;    // read from the source
  double entry_bytes = 0;     // that a sample takes in the cache, in the form that is kept there
  double sent_bytes = 0;      // that a sample takes on its way to the trainer
  std::vector<Ramp> ramp;

  [[nodiscard]] double samples() const { return iterations * batch; }
  [[nodiscard]] coordinator::Terms terms() const {
    return {batch / step_s, hit_core_s / batch, input_core_s / batch,
            dataset < 0 ? 0 : sample_bytes, sent_bytes};
  }
};

struct Dataset {
  std::string name;
  double bytes = 0;  // in the form that the cache keeps
};

struct Trace {
  std::string format;
  std::vector<Job> jobs;  // in order of arrival
  std::vector<Dataset> datasets;
};

}  // namespace headrace::simulate
