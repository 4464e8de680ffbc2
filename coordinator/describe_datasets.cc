#include "coordinator/describe_datasets.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "coordinator/estimate/hit_share.h"

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
  return view.size.all < kFull * useful ? "filling" : "steady";
}

}  // namespace

std::vector<wire::DatasetStatus> DescribeDatasets(
    const State& state, const std::map<std::uint64_t, DatasetView>& views) {
  std::vector<wire::DatasetStatus> all;
  std::vector<std::map<WorkerId, wire::DatasetPart>> parts(views.size());
  std::unordered_map<JobId, std::size_t> dataset_of;  // positions in both
  for (const auto& [dataset, view] : views) {
    wire::DatasetStatus status{
        .dataset = dataset,
        .name = view.session->plan_name,
        .form = FormOf(view),
        .rows = view.session->rows,
        .bytes = static_cast<std::uint64_t>(view.bytes),
        .jobs = {},
        .parts = {},
        .phase = PhaseOf(view),
        .hit_share = view.hit,
        .hit_when_full = HitShare(view.quota, view.bytes, view.places.hosts())};
    for (const Job* job : view.jobs) {
      dataset_of[job->spec.job] = all.size();
      status.jobs.push_back(job->spec.job);
      for (const auto& [id, grant] : job->grants) {
        parts[all.size()][id].quota_bytes += grant.cache_bytes;
      }
    }
    all.push_back(std::move(status));
  }
  for (const auto& [id, worker] : state.workers()) {
    for (const wire::JobUsage& usage : worker.last.usage) {
      const auto at = dataset_of.find(usage.job);
      if (at == dataset_of.end()) continue;
      wire::DatasetPart& part = parts[at->second][id];
      part.bytes += usage.cache_bytes;
      part.entries += usage.cache_entries;
      part.hits += usage.cache_hits;
      part.misses += usage.cache_misses;
    }
  }
  for (std::size_t d = 0; d < all.size(); ++d) {
    for (auto& [id, part] : parts[d]) {
      part.worker = id;
      all[d].parts.push_back(part);
    }
  }
  return all;
}

CacheOffer CacheOfferOf(const Job& job, const std::map<std::uint64_t, DatasetView>& views) {
  const Job* const one = &job;
  const Session* session = CachedSession({&one, 1});
  if (session == nullptr) return {};
  const DatasetView* const known = FindView(views, *session);
  if (known == nullptr || known->encoded) return {};
  const DatasetView& view = *known;
  CacheOffer offer;
  offer.total = view.bytes;
  offer.granted = view.quota;
  offer.free = view.free;
  for (const CacheHost& host : view.places.hosts()) offer.served.push_back(host.served);
  offer.own_bound = job.spec.cache_bytes != wire::kNoCacheBound;
  return offer;
}

}  // namespace headrace::coordinator
