#include "simulate/divide_cache.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace headrace::simulate {
namespace {

struct Demand {
  double bytes = 0;  // size of the data set
  double rate = 0;   // bytes/s read
  int gpus = 0;
  double saved_s = 0;  // in an epoch, when all of it is cached
};

// Gives amounts min(bytes, rate * t), with the t at which they fill the capacity.
std::vector<double> FillByRate(std::span<const Demand> demands, double capacity) {
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto full_at = [&](std::size_t i) {
    return demands[i].rate > 0 ? demands[i].bytes / demands[i].rate : coordinator::kUnlimited;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return full_at(a) < full_at(b); });
  double rate = 0;
  for (const Demand& each : demands) rate += each.rate;
  std::vector<double> amounts(demands.size(), 0);
  double left = capacity;
  for (const std::size_t i : order) {
    if (rate <= 0) break;
    amounts[i] = std::min(demands[i].bytes, left * demands[i].rate / rate);
    left -= amounts[i];
    rate -= demands[i].rate;
  }
  return amounts;
}

}  // namespace

CacheQuotas DivideCache(CacheMode mode, const Cluster& cluster, std::span<const CacheUser> users) {
  std::map<std::size_t, Demand> by_dataset;
  const double share = cluster.source_rate / std::max<double>(1, static_cast<double>(users.size()));
  for (const CacheUser& user : users) {
    Demand& demand = by_dataset[user.dataset];
    demand.bytes = user.dataset_bytes * user.hosts;
    demand.gpus += user.gpus;
    const double rate = user.rate > 0 ? user.rate : user.terms.ready_rate;
    demand.rate += rate * user.entry_bytes;
    const double none = Throughput(user.terms, user.cores, 0, share);
    const double all = Throughput(user.terms, user.cores, 1, share);
    if (none > 0 && all > 0 && user.entry_bytes > 0) {
      demand.saved_s += (1 / none - 1 / all) * user.dataset_bytes / user.entry_bytes;
    }
  }
  CacheQuotas quotas;
  std::vector<Demand> demands;
  for (const auto& [dataset, demand] : by_dataset) {
    quotas.datasets.push_back(dataset);
    demands.push_back(demand);
  }
  if (mode == CacheMode::kLru) {
    quotas.bytes = FillByRate(demands, cluster.cache_bytes);
  } else if (mode == CacheMode::kMinio) {
    for (const Demand& each : demands) {
      quotas.bytes.push_back(std::min(each.bytes, cluster.cache_bytes * each.gpus / cluster.gpus));
    }
  } else {
    std::vector<std::size_t> order(demands.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return demands[a].saved_s * demands[b].bytes > demands[b].saved_s * demands[a].bytes;
    });
    quotas.bytes.assign(demands.size(), 0);
    double left = cluster.cache_bytes;
    for (const std::size_t i : order) {
      if (demands[i].saved_s <= 0) break;
      quotas.bytes[i] = std::min(left, demands[i].bytes);
      left -= quotas.bytes[i];
    }
  }
  return quotas;
}

double HitOf(CacheMode mode, double share) {
  return mode == CacheMode::kLru ? coordinator::LruHit(share, 1)
                                 : coordinator::UniformHit(share, 1);
}

}  // namespace headrace::simulate
