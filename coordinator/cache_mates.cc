#include "coordinator/cache_mates.h"

#include <limits>
#include <set>

#include "coordinator/cache_peers.h"

namespace headrace::coordinator {
namespace {

// Bytes of an entry that any worker shares with those of its host.
constexpr double kLarge = std::numeric_limits<double>::infinity();

}  // namespace

CacheMates::CacheMates(const State& state, const std::vector<PlacementWorker>& workers)
    : state_(state) {
  for (const PlacementWorker& worker : workers) {
    const wire::WorkerInfo& info = state_.FindWorker(worker.worker)->info;
    if (info.cache_bytes == 0) continue;
    by_host_[CacheHostOf(info, kLarge, false)].push_back(&worker);
  }
}

void CacheMates::AddGrants(const PlacementJob& job, double entry_bytes, bool wide,
                           std::map<WorkerId, wire::JobGrant>& grants) const {
  std::set<std::string> hosts;
  for (const auto& [id, grant] : grants) {
    hosts.insert(CacheHostOf(state_.FindWorker(id)->info, wide ? kLarge : entry_bytes, false));
  }
  for (const std::string& host : hosts) {
    const auto mates = by_host_.find(host);
    if (mates == by_host_.end()) continue;  // a worker that keeps its samples for itself
    for (const PlacementWorker* mate : mates->second) {
      if (mate->local && !MayUse(job, *mate)) continue;
      wire::JobGrant grant;
      grant.job = job.job;
      grants.try_emplace(mate->worker, std::move(grant));
    }
  }
}

}  // namespace headrace::coordinator
