#include "coordinator/dataset_jobs.h"

#include <algorithm>

#include "base/hash.h"
#include "coordinator/dataset_view.h"

namespace headrace::coordinator {

std::uint64_t DatasetOf(const State& state, const Job& job) {
  const Job* const one = &job;
  if (const Session* session = CachedSession({&one, 1})) return session->dataset;
  return state.datasets().LargestOf(job.datasets);
}

std::uint64_t DatasetOf(const State& state, JobId id) {
  if (const Job* job = state.FindJob(id)) return DatasetOf(state, *job);
  const auto ended = state.datasets().OfEnded(id);
  return ended.empty() ? 0 : ended.front().second;
}

std::vector<JobId> JobsOf(const State& state, std::uint64_t dataset) {
  std::vector<JobId> jobs = state.datasets().EndedOf(dataset);
  for (const auto& [id, job] : state.jobs()) {
    if (DatasetOf(state, job) == dataset) jobs.push_back(id);
  }
  std::ranges::sort(jobs);
  return jobs;
}

std::uint64_t AccountOf(std::uint64_t dataset, bool encoded) {
  return dataset == 0 || !encoded ? dataset : MixBits(dataset);
}

KeptBytes KeptBytesOf(const State& state) {
  KeptBytes kept;
  if (!state.datasets().any_pinned()) return kept;
  for (const auto& [id, worker] : state.workers()) {
    if (!worker.leasable()) continue;
    for (const wire::JobUsage& usage : worker.last.usage) {
      const Job* job = state.FindJob(usage.job);
      if (job != nullptr && job->phase == Job::Phase::kRunning && !job->idle()) continue;
      const std::uint64_t dataset = DatasetOf(state, usage.job);
      const KnownDataset* known = state.datasets().Find(dataset);
      if (known == nullptr || !known->pinned) continue;
      kept.of_dataset[dataset] += static_cast<double>(usage.cache_bytes);
      kept.on_worker[id] += static_cast<double>(usage.cache_bytes);
    }
  }
  return kept;
}

}  // namespace headrace::coordinator
