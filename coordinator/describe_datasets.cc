#include "coordinator/describe_datasets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "coordinator/dataset_jobs.h"
#include "coordinator/estimate/duplicate_share.h"
#include "coordinator/estimate/hit_share.h"
#include "coordinator/leaf_caches.h"

namespace headrace::coordinator {
namespace {

// Part of its quota from which on a data set counts as cached: files of a cache are filled in pieces.
constexpr double kFull = 0.95;

std::string FormOf(const DatasetView& view) {
  const std::int32_t nodes = view.nodes > 0 ? view.nodes : view.session->split.cache_node;
  if (view.encoded || nodes == 0) return "encoded";
  if (nodes == 1) return "decoded";
  return "after " + std::to_string(nodes) + " nodes";
}

std::string PhaseOf(const DatasetView& view) {
  const double useful = std::min(view.quota, UsefulBytes(view.bytes, view.places.hosts()));
  if (useful <= 0) return "not cached";
  return view.size.room < kFull * useful ? "filling" : "steady";
}

// What is ordered about it. `dataset`: its own, or one of those that have a form with it.
void AddOrders(const KnownDatasets& known, std::uint64_t dataset, wire::DatasetStatus& status) {
  if (const KnownDataset* own = known.Find(dataset)) {
    if (dataset == status.dataset) status.tenant = own->tenant;
    status.pinned = status.pinned || own->pinned;
    status.pinned_bytes = std::max(status.pinned_bytes, own->pinned_bytes);
    status.warm = status.warm || own->warm;
  }
  for (const PendingDrop& drop : known.drops()) {
    if (drop.dataset != dataset) continue;
    status.dropping = std::max(status.dropping, static_cast<std::uint32_t>(drop.waiting.size()));
  }
}

// Data sets that no job reads now, and of which something is cached, or which are pinned.
std::vector<wire::DatasetStatus> IdleDatasets(const State& state,
                                              const std::map<std::uint64_t, DatasetView>& views) {
  std::map<std::uint64_t, EntrySize> left;
  for (const auto& [dataset, known] : state.datasets().all()) {
    if (known.pinned) left[dataset];
  }
  for (const auto& [id, worker] : state.workers()) {
    for (const wire::JobUsage& usage : worker.last.usage) {
      const std::uint64_t dataset = DatasetOf(state, usage.job);
      if (dataset == 0 || usage.cache_entries == 0) continue;
      left[dataset].Add(usage);
    }
  }
  std::vector<wire::DatasetStatus> idle;
  for (const auto& [dataset, size] : left) {
    const KnownDataset* known = state.datasets().Find(dataset);
    if (known == nullptr || known->leaves || FindView(views, dataset) != nullptr) continue;
    idle.push_back({.dataset = dataset,
                    .name = known->name,
                    .form = "-",
                    .rows = known->rows,
                    .bytes = static_cast<std::uint64_t>(DatasetBytes(known->rows, size.bytes())),
                    .jobs = {},
                    .parts = {},
                    .phase = "no job"});
  }
  return idle;
}

// What the stages of a program keep, seen from its jobs and from what ended ones have left.
struct LeavesShown {
  std::map<WorkerId, wire::DatasetPart> parts;
  std::vector<NameSample> samples;
  std::vector<const Job*> jobs;  // that run
  double held = 0, room = 0, quota = 0;
  bool looks = false;

  void Add(WorkerId worker, const wire::JobUsage& usage, bool ended) {
    if (ended && usage.cache_entries == 0) return;
    const bool looked = usage.cache_hits + usage.cache_misses > 0;
    if (!looked && usage.cache_entries == 0) return;
    looks = looks || looked;
    wire::DatasetPart& part = parts[worker];
    part.bytes += EntryBytes(usage);
    part.entries += usage.cache_entries;
    part.hits += usage.cache_hits;
    part.misses += usage.cache_misses;
    held += static_cast<double>(EntryBytes(usage));
    room += static_cast<double>(usage.cache_bytes);
    if (usage.sampled_below > 0) samples.push_back({usage.sampled_below, usage.sampled});
  }
};

std::map<std::uint64_t, LeavesShown> CollectLeaves(const State& state) {
  std::map<std::uint64_t, LeavesShown> all;
  for (const auto& [dataset, known] : state.datasets().all()) {
    if (known.leaves) all[dataset];
  }
  if (all.empty()) return all;
  const auto of = [&](JobId job) { return all.find(DatasetOf(state, job)); };
  for (const auto& [id, job] : state.jobs()) {
    const auto own = of(id);
    if (own != all.end() && job.phase == Job::Phase::kRunning) own->second.jobs.push_back(&job);
  }
  for (const auto& [id, worker] : state.workers()) {
    for (const wire::JobUsage& usage : worker.last.usage) {
      const auto own = of(usage.job);
      if (own == all.end()) continue;
      own->second.Add(id, usage, state.FindJob(usage.job) == nullptr);
    }
  }
  for (auto& [dataset, shown] : all) {
    for (const Job* job : shown.jobs) {
      for (const auto& [id, grant] : job->grants) {
        const auto part = shown.parts.find(id);
        if (part == shown.parts.end()) continue;
        part->second.quota_bytes += grant.cache_bytes;
        shown.quota += static_cast<double>(grant.cache_bytes);
      }
    }
  }
  return all;
}

// What its jobs have measured. Each of them counts alike.
void AddMeasuredLeaves(const LeavesShown& shown, wire::DatasetStatus& status) {
  double bytes = 0, rows = 0;
  for (const Job* job : shown.jobs) {
    status.jobs.push_back(job->spec.job);
    const LeafMeter& leaves = job->meter.leaves();
    status.hit_share += leaves.hit() / static_cast<double>(shown.jobs.size());
    const double own = leaves.bytes().value_or(0);
    if (own <= 0) continue;
    bytes = std::max(bytes, own);  // runs of a program find each other's
    rows =
        std::max(rows, own / LeafMeter::kSlack / leaves.entry_bytes() / leaves.lookups_a_sample());
  }
  status.rows = std::llround(rows);
  status.hit_when_full = bytes > 0 ? UniformHit(shown.quota, bytes) : 0;
  status.bytes = static_cast<std::uint64_t>(bytes);
  const double useful = bytes > 0 ? std::min(shown.quota, bytes) : shown.quota;
  status.phase = useful <= 0 ? "not cached" : shown.room < kFull * useful ? "filling" : "steady";
}

// Leaves of stages, those of a program as one data set.
void AddLeaves(const State& state, std::vector<wire::DatasetStatus>& all) {
  for (const auto& [dataset, shown] : CollectLeaves(state)) {
    const KnownDataset& known = *state.datasets().Find(dataset);
    if (!shown.looks && shown.held <= 0 && !known.pinned) continue;
    wire::DatasetStatus& status = all.emplace_back(wire::DatasetStatus{
        .dataset = dataset, .name = known.name, .form = "leaves", .jobs = {}, .parts = {}});
    AddOrders(state.datasets(), dataset, status);
    if (shown.jobs.empty()) {
      status.bytes = static_cast<std::uint64_t>(shown.held);
      status.phase = "no job";
    } else {
      AddMeasuredLeaves(shown, status);
    }
    for (const auto& [worker, part] : shown.parts) {
      status.parts.push_back(part);
      status.parts.back().worker = worker;
    }
    const DuplicateShare found = DuplicatesOf(shown.samples);
    status.duplicate_share = found.share;
    status.duplicate_share_error = found.error;
    status.sampled_entries = found.sampled;
  }
}

// A bound of the operator's that the data set has reached.
std::string KeeperOf(const PlanRules& rules, const Job& job, const DatasetView& view,
                     const std::map<std::uint64_t, DatasetView>& views) {
  // A bound counts as reached a little before: quotas move in small steps.
  constexpr double kReached = 0.95;
  const auto bound = rules.dataset_bytes.find(view.session->plan_name);
  if (bound != rules.dataset_bytes.end() && view.quota >= kReached * bound->second) {
    return "the bound of its data set";
  }
  auto tenant = std::ranges::find(rules.tenants, job.spec.tenant, &Tenant::name);
  if (tenant == rules.tenants.end()) {
    tenant = std::ranges::find(rules.tenants, "default", &Tenant::name);
  }
  if (tenant == rules.tenants.end()) return "";
  double taken = 0;
  for (const auto& [dataset, each] : views) {
    const bool own = std::ranges::any_of(
        each.jobs, [&](const Job* reader) { return reader->spec.tenant == job.spec.tenant; });
    taken += own ? each.quota : 0;
  }
  return taken >= kReached * tenant->quota.cache_bytes ? "the cache quota of tenant " + tenant->name
                                                       : "";
}

}  // namespace

std::vector<wire::DatasetStatus> DescribeDatasets(
    const State& state, const std::map<std::uint64_t, DatasetView>& views) {
  std::vector<wire::DatasetStatus> all;
  std::unordered_map<std::uint64_t, std::size_t> at;  // positions
  std::vector<std::map<WorkerId, wire::DatasetPart>> parts;
  for (const auto& [dataset, view] : views) {
    wire::DatasetStatus status{
        .dataset = view.session->dataset,  // people and orders know that one
        .name = view.session->plan_name,
        .form = FormOf(view),
        .rows = view.session->rows,
        .bytes = static_cast<std::uint64_t>(view.bytes),
        .jobs = {},
        .parts = {},
        .phase = PhaseOf(view),
        .hit_share = view.hit,
        .hit_when_full = HitShare(view.quota, view.bytes, view.places.hosts())};
    parts.emplace_back();
    for (const Job* job : view.jobs) {
      status.jobs.push_back(job->spec.job);
      for (const auto& [id, grant] : job->grants) {
        parts.back()[id].quota_bytes += grant.cache_bytes;
      }
    }
    for (const std::uint64_t each : view.of_sessions) {
      at[each] = all.size();
      AddOrders(state.datasets(), each, status);
    }
    all.push_back(std::move(status));
  }
  for (wire::DatasetStatus& idle : IdleDatasets(state, views)) {
    at[idle.dataset] = all.size();
    AddOrders(state.datasets(), idle.dataset, idle);
    all.push_back(std::move(idle));
  }
  parts.resize(all.size());
  std::vector<std::vector<NameSample>> samples(all.size());
  for (const auto& [id, worker] : state.workers()) {
    for (const wire::JobUsage& usage : worker.last.usage) {
      const auto found = at.find(DatasetOf(state, usage.job));
      if (found == at.end()) continue;
      wire::DatasetPart& part = parts[found->second][id];
      part.bytes += EntryBytes(usage);
      part.entries += usage.cache_entries;
      part.hits += usage.cache_hits;
      part.misses += usage.cache_misses;
      all[found->second].replica_bytes += usage.replica_bytes;
      all[found->second].replica_entries += usage.replica_entries;
      all[found->second].replica_hits += usage.replica_hits;
      if (usage.sampled_below == 0) continue;
      samples[found->second].push_back({usage.sampled_below, usage.sampled});
    }
  }
  for (std::size_t d = 0; d < all.size(); ++d) {
    for (auto& [id, part] : parts[d]) {
      part.worker = id;
      all[d].parts.push_back(part);
    }
    const DuplicateShare found = DuplicatesOf(samples[d]);
    all[d].duplicate_share = found.share;
    all[d].duplicate_share_error = found.error;
    all[d].sampled_entries = found.sampled;
  }
  AddLeaves(state, all);
  return all;
}

namespace {

CacheOffer LeafOfferOf(const State& state, const Job& job) {
  const Job* const one = &job;
  const LeafSet set = LeafSetOf(state, {&one, 1}, 1);
  if (!set.measured) return {};
  CacheOffer offer;
  offer.total = set.bytes;
  for (const auto& [id, grant] : job.grants) {
    if (!KeepsLeavesOf(state, id, job)) continue;
    offer.granted += static_cast<double>(grant.cache_bytes);
    double free = static_cast<double>(state.FindWorker(id)->info.cache_bytes);
    for (const auto& [other, each] : state.jobs()) {
      const auto at = each.grants.find(id);
      if (at != each.grants.end()) free -= static_cast<double>(at->second.cache_bytes);
    }
    offer.free += std::max(0.0, free);
    offer.served.push_back(grant.millicores);
  }
  offer.own_bound = job.spec.cache_bytes != wire::kNoCacheBound;
  return offer;
}

}  // namespace

CacheOffer CacheOfferOf(const PlanRules& rules, const State& state, const Job& job,
                        const std::map<std::uint64_t, DatasetView>& views) {
  const Job* const one = &job;
  const Session* session = CachedSession({&one, 1});
  if (session == nullptr) return LeafOfferOf(state, job);
  const DatasetView* const known = FindView(views, session->dataset);
  if (known == nullptr || known->encoded) return {};
  const DatasetView& view = *known;
  CacheOffer offer;
  offer.total = view.bytes;
  offer.granted = view.quota;
  offer.free = view.free;
  for (const CacheHost& host : view.places.hosts()) offer.served.push_back(host.served);
  offer.own_bound = job.spec.cache_bytes != wire::kNoCacheBound;
  offer.keeper = KeeperOf(rules, job, view, views);
  return offer;
}

}  // namespace headrace::coordinator
