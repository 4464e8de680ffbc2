#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "simulate/running_job.h"
#include "simulate/scheduler.h"

// Asks the scheduler for the engine: makes its input, and checks that its answer is possible.
namespace headrace::simulate {

struct Decision {
  coordinator::Allocation allocation;  // in the order of the candidates
  std::vector<std::size_t> datasets;   // for Allocation::dataset_bytes: positions in the trace
  int passes = 0;                      // times that the scheduler was asked
};

// One thread.
class Decider {
 public:
  // All arguments must outlive it.
  Decider(const Trace& trace, const Cluster& cluster, CacheMode mode, const EngineOptions& options,
          Scheduler& scheduler);

  // `candidates`: positions of jobs, in order of arrival; other jobs hold nothing. kInternal: the
  // scheduler gave more than there is.
  // `round`: GPUs may be taken away.
  [[nodiscard]] Result<Decision> Decide(std::span<const RunningJob> jobs,
                                        std::span<const std::size_t> candidates,
                                        const CacheModel& cache, bool round, double now_s);

 private:
  [[nodiscard]] coordinator::Snapshot MakeSnapshot(std::span<const RunningJob> jobs,
                                                   std::span<const std::size_t> candidates,
                                                   const CacheModel& cache, double pinned);
  void BoundByNetwork(std::span<const RunningJob> jobs, std::span<const std::size_t> candidates,
                      coordinator::Snapshot& snapshot) const;
  [[nodiscard]] std::int32_t LocalDataset(std::size_t dataset, const CacheModel& cache,
                                          coordinator::Snapshot& snapshot);

  const Cluster& cluster_;
  CacheMode mode_;
  double restart_s_;
  Scheduler& scheduler_;
  std::vector<coordinator::Tenant> tenants_;
  std::vector<std::int32_t> tenant_of_;  // in the order of Trace::jobs
  // Data sets of a snapshot: their positions in the trace, and the inverse (-1: not in the
  // snapshot).
  std::vector<std::size_t> local_;
  std::vector<std::int32_t> slots_;
};

}  // namespace headrace::simulate
