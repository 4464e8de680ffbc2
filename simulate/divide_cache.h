#pragma once

#include <span>
#include <utility>
#include <vector>

#include "simulate/cluster.h"

// Caches that know nothing of the scheduler (all modes but kJoint).
namespace headrace::simulate {

// A running job that reads a data set.
struct CacheUser {
  std::size_t dataset = 0;
  double dataset_bytes = 0;
  int gpus = 1;
  coordinator::Terms terms;
  double cores = 0;
  double rate = 0;  // samples/s now; 0: it has just begun
};

struct CacheQuotas {
  std::vector<std::size_t> datasets;  // rising
  std::vector<double> bytes;
};
// kLru: what each data set holds in the long run, in proportion to how fast it is read. kMinio: the
// cluster's cache in equal shares a GPU. kQuiver: the data sets with the most seconds saved a byte
// in an epoch, each with an equal share of the source; as much as fits.
[[nodiscard]] CacheQuotas DivideCache(CacheMode mode, const Cluster& cluster,
                                      std::span<const CacheUser> users);

// Share of reads that hit when `share` of what is read is cached.
[[nodiscard]] double HitOf(CacheMode mode, double share);

}  // namespace headrace::simulate
