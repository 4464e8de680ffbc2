#include "coordinator/leaf_caches.h"

#include <algorithm>
#include <cstdint>

#include "base/buffer.h"
#include "base/hash.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/host_keys.h"

namespace headrace::coordinator {
namespace {

// Samples of a job that a worker makes before it is known whether the job looks into its cache. Lanes tell
// of lookups at their second batch.
constexpr std::uint64_t kFirstSamples = 4096;

bool Looks(const State& state, const Job& job) {
  if (job.spec.cache_bytes == 0 || job.has_dataset()) return false;
  return std::ranges::any_of(job.leases, [&](WorkerId id) {
    return KeepsLeavesOf(state, id, job) && LooksIntoCache(*state.FindWorker(id), job);
  });
}

}  // namespace

std::uint64_t LeafNumberOf(const State& state, const Job& job, std::string_view plan_name) {
  if (job.spec.cache_bytes == 0) return 0;
  for (const std::uint64_t each : job.datasets) {
    const KnownDataset* known = state.datasets().Find(each);
    if (known != nullptr && known->leaves) return each;
  }
  std::uint64_t number = HashBytes(AsBytes("leaves of a program"), job.spec.host.uid);
  number = HashBytes(AsBytes(job.spec.tenant), number);
  number = HashBytes(AsBytes(job.spec.host.hostname), number);
  number = HashBytes(AsBytes(job.spec.name), number);
  return HashBytes(AsBytes(plan_name), number);
}

std::uint64_t LeafNumberOf(const State& state, JobId job) {
  std::uint64_t number = DatasetOf(state, job);
  if (const Job* running = state.FindJob(job)) {  // which may have read other data, too
    for (const auto& [id, session] : running->sessions) {
      if (session.leaves != 0) number = session.leaves;
    }
  }
  const KnownDataset* known = state.datasets().Find(number);
  return known != nullptr && known->leaves ? number : 0;
}

const KnownDataset* LeavesOf(const State& state, JobId job) {
  return state.datasets().Find(LeafNumberOf(state, job));
}

std::uint64_t LeafAccountOf(const State& state, const Job& job, const wire::JobGrant& held) {
  if (held.data_set == 0 || job.sessions.empty() || job.has_dataset()) return 0;
  // What is pinned of it stays, as long as the job does.
  const std::uint64_t dataset = state.datasets().LargestOf(job.datasets);
  const KnownDataset* native = state.datasets().Find(dataset);
  if (native != nullptr && native->pinned && !native->leaves) {
    return AccountOf(dataset, held.cache_encoded);
  }
  return HashBytes(AsBytes("leaves of a job"), static_cast<std::uint64_t>(job.spec.job.value));
}

bool LooksIntoCache(const Worker& worker, const Job& job) {
  if (job.sessions.empty()) return false;
  const auto usage = std::ranges::find(worker.last.usage, job.spec.job, &wire::JobUsage::job);
  if (usage == worker.last.usage.end()) return true;
  return usage->cache_hits + usage->cache_misses > 0 || usage->samples < kFirstSamples;
}

bool KeepsLeavesOf(const State& state, WorkerId worker, const Job& job) {
  const Worker* known = state.FindWorker(worker);
  return known != nullptr && known->leasable() && known->info.cache_bytes > 0 &&
         UserKey(known->info.host) == UserKey(job.spec.host);
}

double RoomToTry(const State& state, double cache_bytes) {
  double jobs = 0;
  for (const auto& [id, job] : state.jobs()) jobs += Looks(state, job) ? 1 : 0;
  return jobs > 0 ? std::min(kMostToTry, kShareToTry * cache_bytes / jobs) : 0;
}

LeafSet LeafSetOf(const State& state, std::span<const Job* const> jobs, double to_try) {
  LeafSet set;
  set.measured = true;
  for (const Job* job : jobs) {
    if (!Looks(state, *job)) continue;
    const LeafMeter& leaves = job->meter.leaves();
    const auto bytes = leaves.saved() > 0 ? leaves.bytes() : std::nullopt;
    set.measured = set.measured && bytes.has_value();
    set.bytes += bytes.value_or(0);
    set.cached_bytes += leaves.held_bytes();
    set.tried_bytes += to_try;
  }
  if (!set.measured) set.bytes = set.tried_bytes;
  if (set.tried_bytes <= 0) return {};
  set.tried_bytes = std::min(set.tried_bytes, set.bytes);
  set.cached_bytes = std::min(set.cached_bytes, set.bytes);
  return set;
}

}  // namespace headrace::coordinator
