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
  for (const NetworkUser& user : users) {
    shares.push_back(OwnShare(cluster, user.gpus));
    const double rate = coordinator::Throughput(user.terms, user.cores, user.hit, kUnlimited);
    wanted.push_back(
        std::min(shares.back().rate,
                 coordinator::NetworkRateFor(user.terms, rate, user.hit, shares.back().own_cores)));
  }
  if (std::isinf(cluster.link)) return shares;
  const double sent = cluster.link * (cluster.gpu_hosts() + cluster.worker_hosts());
  const std::vector<double> parts = coordinator::FairParts(sent, wanted);
  // Who has all that it wants is not limited: it may want more before this is asked again.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < wanted[i]) shares[i].rate = parts[i];
  }
  return shares;
}

}  // namespace headrace::simulate
