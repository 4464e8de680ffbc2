#include "simulate/network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "coordinator/estimate/fair_parts.h"

namespace headrace::simulate {

using coordinator::kUnlimited;
using coordinator::NetworkShare;

NetworkShare OwnShare(const Cluster& cluster, int gpus) {
  if (std::isinf(cluster.link)) return {};
  return {cluster.link * gpus / cluster.gpus_per_host, gpus * cluster.cpu_per_gpu};
}

std::vector<NetworkShare> NetworkShares(const Cluster& cluster,
                                        std::span<const NetworkUser> users) {
  std::vector<NetworkShare> shares;
  std::vector<double> wanted;
  double used = 0;  // own cores, by jobs of their hosts
  for (const NetworkUser& user : users) {
    shares.push_back(OwnShare(cluster, user.gpus));
    const double own = shares.back().own_cores;
    const double rate = coordinator::Throughput(user.terms, user.cores, user.hit, kUnlimited);
    const double sent = coordinator::NetworkRateFor(user.terms, rate, user.hit, own);
    wanted.push_back(std::min(shares.back().rate, sent));
    used += user.pinned_cores + std::min(own, coordinator::CoresFor(user.terms, rate, user.hit));
  }
  if (std::isinf(cluster.link)) return shares;
  const double idle = std::clamp(1 - used / cluster.host_cores(), 0.0, 1.0);
  const double all = cluster.link * (cluster.worker_hosts() + cluster.gpu_hosts() * idle);
  const std::vector<double> parts = coordinator::FairParts(all, wanted);
  // Who has all that it wants is not limited: it may want more before this is asked again.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < wanted[i]) shares[i].rate = parts[i];
  }
  return shares;
}

}  // namespace headrace::simulate
