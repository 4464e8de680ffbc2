#include "coordinator/cache_orders.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "coordinator/cache_places.h"
#include "coordinator/dataset_jobs.h"

namespace headrace::coordinator {
namespace {

// Part of a quota from which on it counts as full: a cache is filled in pieces.
constexpr double kFilled = 0.97;
// Idle bandwidth below this part of the whole is noise.
constexpr double kLeastIdle = 0.02;

const wire::JobUsage* UsageOf(const Worker& worker, JobId job) {
  const auto at = std::ranges::find(worker.last.usage, job, &wire::JobUsage::job);
  return at == worker.last.usage.end() ? nullptr : &*at;
}

bool IsPinned(const State& state, std::uint64_t dataset) {
  const KnownDataset* known = state.datasets().Find(dataset);
  return known != nullptr && known->pinned;
}

void AddKept(const State& state, const Worker& worker, wire::WorkerDirective& directive) {
  if (!state.datasets().any_pinned()) return;
  const bool heard = worker.last.worker.valid();
  if (!heard) {  // it may have anything, and must not lose it before it said so
    for (const auto& [dataset, known] : state.datasets().all()) {
      if (!known.pinned) continue;
      for (const JobId job : JobsOf(state, dataset)) directive.kept.push_back({job});
    }
  } else {
    std::optional<KeptBytes> kept;
    for (const wire::JobUsage& usage : worker.last.usage) {
      const std::uint64_t dataset = DatasetOf(state, usage.job);
      if (!IsPinned(state, dataset)) continue;
      wire::KeptJob each{.job = usage.job};
      const auto most = static_cast<double>(state.datasets().Find(dataset)->pinned_bytes);
      const Job* const job = state.FindJob(usage.job);
      if (most > 0 && (job == nullptr || job->idle())) {
        if (!kept) kept = KeptBytesOf(state);
        const double share = most / std::max(most, kept->Of(dataset));
        each.bytes = static_cast<std::uint64_t>(static_cast<double>(usage.cache_bytes) * share);
      }
      directive.kept.push_back(each);
    }
    // Of a job that has a lease, or room for its samples, here and no entry yet.
    std::set<JobId> here = worker.jobs;
    here.insert(worker.granted.begin(), worker.granted.end());
    for (const JobId job : here) {
      if (UsageOf(worker, job) == nullptr && IsPinned(state, DatasetOf(state, job))) {
        directive.kept.push_back({job});
      }
    }
  }
  if (directive.kept.size() > wire::kMaxJobsOfWorker) {
    directive.kept.resize(wire::kMaxJobsOfWorker);
  }
}

// Bytes/s that the job's reads take of the source. Before it is measured: all that it may take.
double SourceRateOf(const Job& job) {
  if (job.meter.demand().known) {
    const Terms& terms = job.meter.measured();
    return job.meter.rate() * SourceBytesPerSample(terms, job.meter.hit());
  }
  double limits = 0;
  for (const auto& [id, grant] : job.grants) {
    limits += static_cast<double>(grant.source_bytes_per_second);
  }
  return limits;
}

// What the worker keeps for the job, and for others of its data set: they have their quotas together, and
// what one has made counts for all.
struct KeptTogether {
  EntrySize size;
  double quota = 0;
  [[nodiscard]] bool full() const { return size.room >= kFilled * quota; }
  [[nodiscard]] bool smaller_than(double entry_bytes) const {
    return size.entries > 0 && size.bytes() < entry_bytes;
  }
};
KeptTogether KeptOf(const State& state, JobId job, const Worker& worker) {
  KeptTogether all;
  const auto grant_of = [&](JobId id) -> const wire::JobGrant& {
    return state.FindJob(id)->grants.at(worker.info.worker);
  };
  const std::uint64_t data_set = grant_of(job).data_set;
  for (const JobId id : worker.granted) {
    if (id != job && (data_set == 0 || grant_of(id).data_set != data_set)) continue;
    all.quota += static_cast<double>(grant_of(id).cache_bytes);
    const wire::JobUsage* usage = UsageOf(worker, id);
    if (usage != nullptr) all.size.Add(*usage);
  }
  return all;
}

// Whether the job's data set should be filled on this worker. Without a lease it does not know the samples.
bool Fills(const PlanRules& rules, const State& state, const Job& job, const Worker& worker) {
  const auto grant = job.grants.find(worker.info.worker);
  if (job.phase != Job::Phase::kRunning || grant == job.grants.end()) return false;
  if (!worker.jobs.contains(job.spec.job) || !worker.leasable()) return false;
  if (grant->second.cache_bytes == 0) return false;
  if (KeptOf(state, job.spec.job, worker).full()) return false;
  const KnownDataset* known = state.datasets().Find(DatasetOf(state, job));
  return known != nullptr && !known->leaves && (known->warm || std::isfinite(rules.source_rate));
}

double SourceQuota(const PlanRules& rules, const std::string& tenant) {
  const auto at = std::ranges::find(rules.tenants, tenant, &Tenant::name);
  if (at != rules.tenants.end()) return at->quota.source_rate;
  const auto other = std::ranges::find(rules.tenants, "default", &Tenant::name);
  return other == rules.tenants.end() ? kUnlimited : other->quota.source_rate;
}

// What jobs take of a limit, and how many fill from it: a job on a worker is one.
struct Use {
  double taken = 0;
  double fillers = 0;
  // The idle part for each of them.
  [[nodiscard]] double Part(double limit) const {
    if (std::isinf(limit)) return kUnlimited;
    const double idle = limit - taken;
    return idle < kLeastIdle * limit ? 0 : idle / std::max(1.0, fillers);
  }
};

void AddFills(const PlanRules& rules, const State& state, const Worker& worker,
              wire::WorkerDirective& directive) {
  for (const wire::JobGrant& grant : directive.grants) {
    const Job& job = *state.FindJob(grant.job);
    if (!Fills(rules, state, job, worker)) continue;
    wire::FillOrder fill{.job = grant.job};
    const auto rate = state.fill_rates().find(job.spec.tenant);
    if (rate == state.fill_rates().end() || rate->second == 0) continue;
    fill.bytes_per_second = rate->second;
    const bool small = KeptOf(state, grant.job, worker)
                           .smaller_than(static_cast<double>(worker.info.share_from_bytes));
    if (!small) {  // else each worker keeps its own
      for (const wire::CachePeer& peer : grant.peers) {
        if (!job.leases.contains(peer.worker)) continue;
        ++fill.parts;
        if (peer.worker < worker.info.worker) ++fill.part;
      }
    }
    directive.fills.push_back(fill);
  }
}

}  // namespace

std::map<std::string, std::uint64_t> FillRates(const PlanRules& rules, const State& state) {
  std::map<std::string, std::uint64_t> rates;
  const bool warm = std::ranges::any_of(state.datasets().all(),
                                        [](const auto& each) { return each.second.warm; });
  if (!warm && std::isinf(rules.source_rate)) return rates;
  std::map<std::string, Use> tenants;
  Use all;
  for (const auto& [id, job] : state.jobs()) {
    Use& own = tenants[job.spec.tenant];
    const double taken = SourceRateOf(job);
    for (Use* use : {&all, &own}) use->taken += taken;
    for (const auto& [at, grant] : job.grants) {
      const Worker* worker = state.FindWorker(at);
      if (worker == nullptr || !Fills(rules, state, job, *worker)) continue;
      for (Use* use : {&all, &own}) ++use->fillers;
    }
  }
  for (const auto& [tenant, use] : tenants) {
    if (use.fillers == 0) continue;
    const double rate = std::min(all.Part(rules.source_rate), use.Part(SourceQuota(rules, tenant)));
    rates[tenant] = std::isinf(rate) ? wire::FillOrder::kNoBound : static_cast<std::uint64_t>(rate);
  }
  return rates;
}

void AddCacheOrders(const PlanRules& rules, const State& state, const Worker& worker,
                    wire::WorkerDirective& directive) {
  AddKept(state, worker, directive);
  for (const PendingDrop& drop : state.datasets().drops()) {
    if (drop.waiting.contains(worker.info.worker)) {
      directive.drops.push_back({drop.number, drop.jobs});
    }
  }
  AddFills(rules, state, worker, directive);
}

}  // namespace headrace::coordinator
