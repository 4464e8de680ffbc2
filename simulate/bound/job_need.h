#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "simulate/cluster.h"
#include "simulate/job.h"

// The least that each job of a trace takes of a cluster, whatever the schedule. Bounds are made of it.
namespace headrace::simulate {

// What jobs compete for. kOfCache: bytes that are kept, in place of bytes of the source that are read.
enum Resource : std::size_t { kOfGpus, kOfCores, kOfSource, kOfCache, kResourceCount };

struct JobNeed {
  std::size_t job = 0;  // position in Trace::jobs
  double arrival_s = 0;
  double least_s =
      0;  // with GPUs, at the best speed that the cluster allows, however little else runs
  // Seconds at its greatest speed that do all its work: least_s, and less if its trainer has slower phases.
  double full_s = 0;
  double useful_gpu_s =
      0;  // GPU-seconds that do not wait for data; the most where it has slower phases
  // Parts of the cluster's GPUs, cores, source and cache that it takes while it runs at its greatest speed.
  // It takes of the source or of the cache, or some of both, whose parts then sum to one. kUnlimited: not
  // possible.
  std::array<double, kResourceCount> shares{};
};

// In order of arrival, without jobs that ask for more GPUs than there are.
//
// Why it is the least: a job takes all its GPUs while it runs; at y of its greatest speed it counts as y of
// them here. A sample costs at least the cheaper of its two costs. Where nothing is cached it comes from the
// source. A job that reads data alone, at y of its greatest speed and with a share h of the data cached, takes
// (1 - h) y >= y - min(y, h) of what it takes of the source alone, and at least min(y, h) of the bytes of its
// data set. A job whose data others read too is counted as if it were cached, since it may find what they
// have read. So is one where idle bandwidth fills the cache (EngineOptions::fill): take such a cluster's source
// as unlimited.
[[nodiscard]] std::vector<JobNeed> NeedsOfJobs(const Trace& trace, const Cluster& cluster);

}  // namespace headrace::simulate
