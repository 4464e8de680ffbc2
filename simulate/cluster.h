#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/estimate/estimator.h"
#include "coordinator/policy/core/policy.h"

// The cluster that the jobs run on, and how it is simulated.
namespace headrace::simulate {

struct Cluster {
  int gpus = 64;
  double cpu_per_gpu = 3;  // cores on the GPUs' hosts
  double extra_cores = 0;  // on hosts without GPUs; only data workers can use them
  double cache_bytes = 0;
  double source_rate = coordinator::kUnlimited;  // bytes/s, of all jobs together
  // Hosts whose caches are apart: what one has read, the others read again. 1: one cache for all. GPUs,
  // cores and cache are divided over them equally.
  int cache_hosts = 1;
  // Bytes/s that each host's network carries, each way. A job's GPUs are on hosts of `gpus_per_host`; the
  // extra cores are on hosts that have as many cores as those.
  double link = coordinator::kUnlimited;
  int gpus_per_host = 8;

  std::optional<double> floor;      // see coordinator::Snapshot
  bool shared_cache_first = false;  // the same
  // Weights and quotas; those of a trace that are not here have weight 1 and no quota.
  std::vector<coordinator::Tenant> tenants = {};

  // Hosts on which a job's input is made: as few as have its GPUs. The simulation ignores which.
  [[nodiscard]] int HostsOf(int job_gpus) const {
    const double each = static_cast<double>(gpus) / cache_hosts;
    return std::clamp(static_cast<int>(std::ceil(job_gpus / each - 1e-9)), 1, cache_hosts);
  }
  [[nodiscard]] double gpu_hosts() const {
    return std::ceil(static_cast<double>(gpus) / gpus_per_host - 1e-9);
  }
  [[nodiscard]] double worker_hosts() const {
    return std::ceil(extra_cores / (cpu_per_gpu * gpus_per_host) - 1e-9);
  }
  [[nodiscard]] double host_cores() const { return gpus * cpu_per_gpu; }
  [[nodiscard]] double cores() const { return host_cores() + extra_cores; }
};

// Decides how the cache is divided.
enum class CacheMode : std::uint8_t {
  kJoint,   // the policy, together with cores and bandwidth; what is cached stays
  kLru,     // nobody: all share one cache that drops what was not used for longest
  kMinio,   // fixed shares for each GPU; what is cached stays (CoorDL)
  kQuiver,  // whole data sets, by time saved a byte (Quiver)
};

struct EngineOptions {
  double period_s = 1;   // control period: the client's heartbeat
  double round_s = 360;  // between decisions on GPUs, where a policy takes them away (Gavel)
  // Seconds for which a job that was stopped holds its GPUs again before it makes steps: it is saved, started
  // and restored. Every scheduler that takes GPUs away pays for it.
  double restart_s = 0;
  // Standard deviation of the logarithm of every measured value.
  double noise = 0;
  std::uint64_t seed = 1;
  // Most control periods that are simulated after an event; it stops earlier once nothing changes.
  int most_periods = 60;
  // What no job reads of a source with a limit fills data sets below their quota, in equal parts, as idle
  // workers do (ADR 0065).
  bool fill = false;
  bool record_cache = false;  // Outcome::cache; a point for each job and change
};

}  // namespace headrace::simulate
