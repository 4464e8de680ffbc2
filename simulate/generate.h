#pragma once

#include <cstdint>

#include "base/result.h"
#include "simulate/job.h"

// Makes synthetic traces for tests, benchmarks and first steps. Arrivals are Poisson. Jobs have 1,
// 2, 4 or 8 GPUs with 70, 10, 15 and 5% (Synergy's demand). Durations are log-normal with a long
// tail, around 20 minutes as in Philly's clusters.
namespace headrace::simulate {

struct GenerateOptions {
  std::int64_t jobs = 100;
  std::uint64_t seed = 1;
  int gpus = 64;           // GPUs of the cluster that the trace is made for
  double load = 0.8;       // GPU-seconds asked for each GPU-second there is
  double median_s = 1200;  // duration of a job
  // Shares of vision and speech; the rest is language.
  double vision = 0.2;
  double speech = 0.1;
  // Jobs read much and decode little, each from one of SiloD's data sets (143 GB to 20.9 TB).
  bool large_datasets = false;
  bool private_datasets = false;
};

// kInvalidArgument: an option is out of its range.
[[nodiscard]] Result<Trace> Generate(const GenerateOptions& options);

}  // namespace headrace::simulate
