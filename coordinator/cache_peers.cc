#include "coordinator/cache_peers.h"

#include "base/pass/pass.h"

namespace headrace::coordinator {
namespace {

bool MayShare(const wire::WorkerInfo& a, const wire::WorkerInfo& b) {
  return !a.host.boot_id.empty() && a.host.boot_id == b.host.boot_id &&
         a.host.hostname == b.host.hostname && a.host.uid == b.host.uid && a.version == b.version;
}

}  // namespace

std::string CacheHostOf(const wire::WorkerInfo& worker, double entry_bytes) {
  if (worker.host.boot_id.empty() || worker.endpoints.empty() ||
      entry_bytes < static_cast<double>(worker.share_from_bytes)) {
    return "worker " + std::to_string(worker.worker.value);
  }
  // The parts that MayShare compares. No text holds a zero byte by accident of another's end.
  std::string name = worker.host.boot_id;
  for (const std::string& part :
       {worker.host.hostname, std::to_string(worker.host.uid), worker.version}) {
    name += '\0';
    name += part;
  }
  return name;
}

std::vector<wire::CachePeer> CachePeersOf(const State& state, const Job& job, const Worker& asker) {
  std::vector<wire::CachePeer> peers;
  for (const auto& [id, grant] : job.grants) {
    if (grant.cache_bytes == 0 || id == asker.info.worker) continue;
    const Worker& worker = *state.FindWorker(id);
    if (worker.info.endpoints.empty() || !MayShare(worker.info, asker.info)) continue;
    if (peers.size() == wire::kMaxPeers) break;
    peers.push_back({id, worker.info.endpoints.front(), worker.info.cache_bytes,
                     PeerPassOf(worker.token, job.spec.job, asker.info.worker)});
  }
  return peers;
}

}  // namespace headrace::coordinator
