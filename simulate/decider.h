#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "simulate/running_job.h"
#include "simulate/scheduler.h"

// The engine's questions to its scheduler: what it is told, and whether its answer can be.
namespace headrace::simulate {

struct Decision {
  coordinator::Allocation allocation;  // as the candidates
  std::vector<std::size_t> datasets;   // of Allocation::dataset_bytes: positions in the trace
  int passes = 0;                      // times that the scheduler was asked
};

// One thread.
class Decider {
 public:
  // All outlive it.
  Decider(const Trace& trace, const Cluster& cluster, CacheMode mode, Scheduler& scheduler);

  // `candidates`: positions of jobs, in order of arrival; the others hold nothing. kInternal: more
  // is given than there is.
  [[nodiscard]] Result<Decision> Decide(std::span<const RunningJob> jobs,
                                        std::span<const std::size_t> candidates,
                                        const CacheModel& cache);

 private:
  [[nodiscard]] coordinator::Snapshot MakeSnapshot(std::span<const RunningJob> jobs,
                                                   std::span<const std::size_t> candidates,
                                                   const CacheModel& cache, double pinned);
  [[nodiscard]] std::int32_t LocalDataset(std::size_t dataset, const CacheModel& cache,
                                          coordinator::Snapshot& snapshot);

  const Cluster& cluster_;
  CacheMode mode_;
  Scheduler& scheduler_;
  std::vector<coordinator::Tenant> tenants_;
  std::vector<std::int32_t> tenant_of_;  // as Trace::jobs
  // Data sets of a snapshot: positions in the trace, and the way back (-1: not in it).
  std::vector<std::size_t> local_;
  std::vector<std::int32_t> slots_;
};

}  // namespace headrace::simulate
