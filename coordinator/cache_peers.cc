#include "coordinator/cache_peers.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/pass/pass.h"
#include "net/exposure.h"

namespace headrace::coordinator {
namespace {

bool KnowsHost(const wire::WorkerInfo& worker) {
  return !worker.host.boot_id.empty() && !worker.endpoints.empty();
}

// Whether other hosts may ask the worker, and reach it.
bool IsWide(const wire::WorkerInfo& worker) {
  return KnowsHost(worker) && !worker.local && !net::IsLocalEndpoint(worker.endpoints.front());
}

// Whether they are in one group. Equivalences both, so that all members of a group know the same one.
bool ShareHost(const wire::WorkerInfo& a, const wire::WorkerInfo& b) {
  return KnowsHost(a) && KnowsHost(b) && a.host.boot_id == b.host.boot_id &&
         a.host.hostname == b.host.hostname && a.host.uid == b.host.uid && a.version == b.version;
}
bool ShareWide(const wire::WorkerInfo& a, const wire::WorkerInfo& b) {
  if (IsWide(a) != IsWide(b)) return false;
  return IsWide(a) ? a.host.uid == b.host.uid && a.version == b.version : ShareHost(a, b);
}

}  // namespace

std::string CacheHostOf(const wire::WorkerInfo& worker, double entry_bytes, bool wide) {
  const bool small = !wide && entry_bytes < static_cast<double>(worker.share_from_bytes);
  if (!KnowsHost(worker) || small) return "worker " + std::to_string(worker.worker.value);
  // The parts that are compared. No text holds a zero byte by accident of another's end.
  std::string name = "all hosts";
  if (!wide || !IsWide(worker)) {
    name = "host ";
    name.append(worker.host.boot_id).append(1, '\0').append(worker.host.hostname);
  }
  name.append(1, '\0').append(std::to_string(worker.host.uid));
  return name.append(1, '\0').append(worker.version);
}

void NamePeers(const State& state, const Job& job, const Worker& asker, wire::JobGrant& grant) {
  grant.peers.clear();
  grant.wide_peers.clear();
  std::vector<wire::CachePeer> wide;
  std::size_t own = 0;  // the asker's position among them
  for (const auto& [id, held] : job.grants) {
    if (held.cache_bytes == 0) continue;
    const Worker& worker = *state.FindWorker(id);
    const std::uint64_t weight = worker.info.cache_bytes;
    const bool self = id == asker.info.worker;
    if (!self && grant.peers.size() < wire::kMaxPeers && ShareHost(worker.info, asker.info)) {
      grant.peers.push_back({id, worker.info.endpoints.front(), weight,
                             PeerPassOf(worker.token, job.spec.job, asker.info.worker)});
    }
    if (!grant.wide || !ShareWide(worker.info, asker.info)) continue;
    if (self) own = wide.size();
    wide.push_back({id, worker.info.endpoints.front(), weight, {}});
  }
  const std::size_t first = own / wire::kMaxPeers * wire::kMaxPeers;
  const std::size_t end = std::min(wide.size(), first + wire::kMaxPeers);
  for (std::size_t i = first; i < end; ++i) {
    if (wide[i].worker == asker.info.worker) continue;
    wide[i].pass =
        WidePassOf(state.FindWorker(wide[i].worker)->token, job.spec.job, asker.info.worker);
    grant.wide_peers.push_back(std::move(wide[i]));
  }
}

}  // namespace headrace::coordinator
