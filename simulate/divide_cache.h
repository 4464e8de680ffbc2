#pragma once

#include <span>
#include <utility>
#include <vector>

#include "simulate/cluster.h"

// Caches that are independent of the scheduler (all modes but kJoint).
namespace headrace::simulate {

// A running job that reads a data set.
struct CacheUser {
  std::size_t dataset = 0;
  double dataset_bytes = 0;
  double entry_bytes = 0;  // of a sample, in the cache
  int gpus = 1;
  coordinator::Terms terms;
  double cores = 0;
  double rate = 0;  // samples/s now; 0: it has just begun
  int hosts = 1;    // on which the data set is cached, all of it on each
};

struct CacheQuotas {
  std::vector<std::size_t> datasets;  // rising
  std::vector<double> bytes;
};
// Divides the cache by mode. kLru: the long-run content of each data set, in proportion to its read
// rate. kMinio: equal shares of the cluster's cache for each GPU. kQuiver: as many data sets as
// fit, those first that save the most seconds a byte in an epoch. For that, each has an equal share
// of the source.
[[nodiscard]] CacheQuotas DivideCache(CacheMode mode, const Cluster& cluster,
                                      std::span<const CacheUser> users);

// Share of reads that hit when a share `share` of the data is cached.
[[nodiscard]] double HitOf(CacheMode mode, double share);

}  // namespace headrace::simulate
