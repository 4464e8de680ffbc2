#include "coordinator/pool_options.h"

#include <algorithm>
#include <utility>

namespace headrace::coordinator {
namespace {

// Heartbeats after which an unneeded member of a pool is drained.
constexpr int kIdlePeriods = 60;

// Converts the endpoint to the address for a process on this host.
std::string LocalEndpoint(std::string endpoint) {
  for (const std::string any : {"tcp://0.0.0.0:", "tcp://*:", "tcp://[::]:"}) {
    if (endpoint.starts_with(any)) return "tcp://127.0.0.1:" + endpoint.substr(any.size());
  }
  return endpoint;
}

// Converts it to the address for a process that knows this host as `host`.
std::string EndpointAt(const std::string& endpoint, const std::string& host) {
  if (!endpoint.starts_with("tcp://")) return endpoint;
  return "tcp://" + host + endpoint.substr(endpoint.rfind(':'));
}

}  // namespace

PoolKeeper::Options KeeperOptions(const CoordinatorOptions& options) {
  PoolKeeper::Options kept{.least = options.workers,
                           .most = options.most_workers,
                           .idle_after = options.heartbeat * kIdlePeriods,
                           .member_cores = options.worker_cores,
                           .patience = options.pool_patience,
                           .pools = {},
                           .on_demand_at_least = options.on_demand_at_least,
                           .room_within = options.room_within};
  for (const PoolWish& wish : options.pools) {
    PoolKeeper::NamedPool pool{wish.shown_name(), wish.rules};
    if (pool.rules.core_price <= 0) pool.rules.core_price = options.prices.core;
    kept.pools.push_back(std::move(pool));
  }
  return kept;
}

PoolOptions PoolOptionsOf(const CoordinatorOptions& options, const PoolWish& wish,
                          const PoolRegistry& registry, const std::string& listens) {
  PoolOptions pool;
  pool.most_members = std::max(pool.most_members, options.most_workers);
  const PoolDescriptor* kind = registry.Find(wish.kind);
  const bool here = options.advertise.empty() || (kind != nullptr && kind->on_this_host);
  const std::string endpoint =
      here ? LocalEndpoint(listens) : EndpointAt(listens, options.advertise);
  pool.name = PoolName(endpoint) + (wish.name.empty() ? "" : "-" + wish.name);
  if (options.worker_command) pool.worker_command = options.worker_command(wish, endpoint);
  return pool;
}

}  // namespace headrace::coordinator
