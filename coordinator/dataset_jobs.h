#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "coordinator/state/state.h"

// Which jobs stand for a data set, running or ended, and what they have of it in caches. Pure.
namespace headrace::coordinator {

// The data set whose entries the job's are: the largest one. 0: none.
[[nodiscard]] std::uint64_t DatasetOf(const State& state, const Job& job);
// All jobs of the data set, also those that have ended, ascending.
[[nodiscard]] std::vector<JobId> JobsOf(const State& state, std::uint64_t dataset);
// By a worker's usage: the data set of a job, running or ended. 0: none that is known.
[[nodiscard]] std::uint64_t DatasetOf(const State& state, JobId job);

// The number of an account of the data set in workers' caches. What is kept in another form counts in another one.
[[nodiscard]] std::uint64_t AccountOf(std::uint64_t dataset, bool encoded);

// Bytes of pinned data sets that jobs have left in caches and that stay there.
struct KeptBytes {
  std::map<std::uint64_t, double> of_dataset;
  std::unordered_map<WorkerId, double> on_worker;
  [[nodiscard]] double Of(std::uint64_t dataset) const {
    const auto at = of_dataset.find(dataset);
    return at == of_dataset.end() ? 0 : at->second;
  }
  [[nodiscard]] double On(WorkerId worker) const {
    const auto at = on_worker.find(worker);
    return at == on_worker.end() ? 0 : at->second;
  }
};
[[nodiscard]] KeptBytes KeptBytesOf(const State& state);

}  // namespace headrace::coordinator
