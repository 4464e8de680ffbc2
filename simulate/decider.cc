#include "simulate/decider.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "simulate/divide_cache.h"
#include "simulate/network.h"

namespace headrace::simulate {

using coordinator::Allocation;
using coordinator::kUnlimited;
using coordinator::Snapshot;

namespace {

Status Check(const Snapshot& snapshot, const Allocation& allocation) {
  const coordinator::Resources& supply = snapshot.supply;
  coordinator::Resources used{0, 0, 0, 0};
  for (std::size_t k = 0; k < snapshot.jobs.size(); ++k) {
    const coordinator::Grant& grant = allocation.jobs[k];
    if (!grant.admitted) continue;
    used.gpus += snapshot.jobs[k].gpus;
    used.cores += grant.cores + snapshot.jobs[k].pinned_cores;
    if (grant.source_rate < kUnlimited) used.source_rate += grant.source_rate;
  }
  for (const double bytes : allocation.dataset_bytes) used.cache_bytes += bytes;
  const auto over = [](double use, double have) { return use > have * (1 + 1e-6) + 1e-6; };
  if (over(used.gpus, supply.gpus)) return Internal("more GPUs are given than there are");
  if (over(used.cores, supply.cores)) return Internal("more cores are given than there are");
  if (over(used.cache_bytes, supply.cache_bytes)) {
    return Internal("more cache is given than there is");
  }
  if (over(used.source_rate, supply.source_rate)) {
    return Internal("more bandwidth is given than there is");
  }
  return Status::Ok();
}

}  // namespace

Decider::Decider(const Trace& trace, const Cluster& cluster, CacheMode mode,
                 const EngineOptions& options, Scheduler& scheduler)
    : cluster_(cluster),
      mode_(mode),
      restart_s_(options.restart_s),
      scheduler_(scheduler),
      slots_(trace.datasets.size(), -1) {
  tenants_ = cluster.tenants;
  for (const Job& job : trace.jobs) {
    const auto it = std::find_if(tenants_.begin(), tenants_.end(),
                                 [&](const auto& each) { return each.name == job.tenant; });
    tenant_of_.push_back(static_cast<std::int32_t>(it - tenants_.begin()));
    if (it == tenants_.end()) tenants_.push_back({job.tenant});
  }
}

Snapshot Decider::MakeSnapshot(std::span<const RunningJob> jobs,
                               std::span<const std::size_t> candidates, const CacheModel& cache,
                               double pinned) {
  Snapshot snapshot;
  snapshot.supply = {static_cast<double>(cluster_.gpus), cluster_.cores() - pinned,
                     mode_ == CacheMode::kJoint ? cluster_.cache_bytes : 0, cluster_.source_rate};
  snapshot.tenants = tenants_;
  snapshot.floor = cluster_.floor;
  snapshot.shared_cache_first = cluster_.shared_cache_first;
  local_.clear();
  snapshot.jobs.reserve(candidates.size());
  for (const std::size_t i : candidates) {
    const RunningJob& run = jobs[i];
    const Job& job = run.job();
    coordinator::JobView view;
    view.job = JobId(static_cast<std::int64_t>(i));
    view.tenant = tenant_of_[i];
    view.priority = job.priority;
    view.gpus = job.gpus;
    view.running = run.stage == Stage::kRunning;
    view.arrival_s = job.arrival_s;
    view.terms = run.Told(scheduler_.has_controllers());
    if (scheduler_.has_controllers()) view.pinned_cores = run.pinned_cores();
    view.remaining_samples = run.remaining;
    view.received_samples = run.received();
    view.received = run.outcome.run_s * job.gpus;
    if (job.dataset >= 0 && cache.capacity() > 0) {
      const auto d = static_cast<std::size_t>(job.dataset);
      const double hit = view.running ? run.hit : HitOf(mode_, cache.Begin(d).cached_share);
      if (mode_ == CacheMode::kJoint) {
        view.dataset = LocalDataset(d, cache, snapshot);
        view.effective_hit = hit;
      } else {  // the scheduler does not divide the cache: costs are as measured
        view.terms.miss_cost = view.terms.hit_cost = CostPerSample(view.terms, hit);
        view.terms.miss_bytes = SourceBytesPerSample(view.terms, hit);
      }
    }
    snapshot.jobs.push_back(view);
  }
  for (const std::size_t d : local_) slots_[d] = -1;
  BoundByNetwork(jobs, candidates, snapshot);
  return snapshot;
}

// Who does not run yet is taken to have its own hosts' links: it uses no other's now.
void Decider::BoundByNetwork(std::span<const RunningJob> jobs,
                             std::span<const std::size_t> candidates, Snapshot& snapshot) const {
  if (std::isinf(cluster_.link)) return;
  std::vector<NetworkUser> users;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const RunningJob& run = jobs[candidates[k]];
    const coordinator::JobView& view = snapshot.jobs[k];
    if (run.stage == Stage::kRunning)
      users.push_back({view.gpus, view.terms, run.hit, kUnlimited, run.pinned_cores()});
  }
  const std::vector<coordinator::NetworkShare> shares = NetworkShares(cluster_, users);
  std::size_t next = 0;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const RunningJob& run = jobs[candidates[k]];
    coordinator::JobView& view = snapshot.jobs[k];
    const auto share =
        run.stage == Stage::kRunning ? shares[next++] : OwnShare(cluster_, view.gpus);
    view.most_cores = std::min(view.most_cores, CoresOfUse(view.terms, run.hit, share));
  }
}

std::int32_t Decider::LocalDataset(std::size_t d, const CacheModel& cache, Snapshot& snapshot) {
  if (slots_[d] < 0) {
    slots_[d] = static_cast<std::int32_t>(local_.size());
    local_.push_back(d);
    snapshot.datasets.push_back({cache.bytes(d), cache.cached(d), cache.hosts(d)});
  }
  return slots_[d];
}

Result<Decision> Decider::Decide(std::span<const RunningJob> jobs,
                                 std::span<const std::size_t> candidates, const CacheModel& cache,
                                 bool round, double now_s) {
  std::vector<double> rates, cores, pins;
  std::vector<int> stops;
  double pinned = 0;
  for (const std::size_t i : candidates) {
    rates.push_back(jobs[i].rate);
    cores.push_back(jobs[i].cores);
    pins.push_back(jobs[i].pinned_cores());
    stops.push_back(jobs[i].outcome.preemptions);
    if (jobs[i].stage == Stage::kRunning) pinned += jobs[i].pinned_cores();
  }
  // Admitted pinned jobs take cores from the others; pinned jobs that are not admitted give theirs
  // back. Policies handle this themselves. For baselines, the division is made again.
  if (scheduler_.has_controllers()) pinned = 0;
  constexpr int kMostPasses = 16;
  for (int pass = 1; pass <= kMostPasses; ++pass) {
    const Snapshot snapshot = MakeSnapshot(jobs, candidates, cache, pinned);
    Allocation allocation = scheduler_.Decide(
        {snapshot, cluster_, rates, cores, pins, stops, round, restart_s_, now_s});
    if (allocation.jobs.size() != candidates.size()) {
      return Internal("the allocation is of other jobs");
    }
    double needed = 0;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      if (scheduler_.has_controllers()) break;
      if (allocation.jobs[k].admitted) needed += jobs[candidates[k]].pinned_cores();
    }
    if (std::abs(needed - pinned) <= 1e-9 * (pinned + 1)) {
      HR_RETURN_IF_ERROR(Check(snapshot, allocation));
      return Decision{std::move(allocation), local_, pass};
    }
    pinned = needed;
  }
  return Internal("admissions and the cores that stay on their hosts do not settle");
}

}  // namespace headrace::simulate
