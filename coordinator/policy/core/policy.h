#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "coordinator/estimate/estimator.h"
#include "coordinator/estimate/hit_share.h"
#include "coordinator/policy/core/grant_why.h"

// Decides who gets how much. A policy divides cores, cache and bandwidth of the source (and, in the
// simulator, GPUs) between all jobs together. Placement (coordinator/placement) then finds the
// workers. Decide is a pure function of a snapshot, and the simulator runs the same code. Each
// policy has its own folder (docs/howto/add-policy.md).
namespace headrace::coordinator {

// Amounts of what is divided. kUnlimited: as much as any job wants.
struct Resources {
  double gpus = kUnlimited;
  double cores = 0;
  double cache_bytes = 0;
  double source_rate = kUnlimited;  // bytes/s
  static Resources Unlimited() { return {kUnlimited, kUnlimited, kUnlimited, kUnlimited}; }
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct Tenant {
  std::string name;
  double weight =
      1;  // > 0; of its jobs against others': a job's fair share goes by GPUs times this
  Resources quota = Resources::Unlimited();
};

// Data that is cached once for all jobs that read it.
struct Dataset {
  double bytes = 0;         // all of it, in the form that is cached
  double cached_bytes = 0;  // what is cached now; a sample counts on each host that has it
  // Where the batches of its jobs are made now. A quota is divided over them (DivideOverHosts). None:
  // that is not known yet, and one cache is counted.
  std::vector<CacheHost> hosts;
  // Its quota is not less, whatever others would gain, while there is room; and not more than `most_bytes`.
  double pinned_bytes = 0;
  double most_bytes = kUnlimited;
  std::int32_t tenant = -1;  // whose quota it counts against if no job reads it
};

struct JobView {
  JobId job;
  std::int32_t tenant = 0;    // position in Snapshot::tenants
  std::int32_t priority = 0;  // a higher one is served first, whatever the policy
  std::int32_t gpus = 1;      // GPUs that it trains on
  bool running = true;        // false: it waits to be admitted
  double arrival_s = 0;       // on any clock, the same for all
  // What the controller asks for: the rate and costs to provide for (scaling/).
  Terms terms;                     // ready_rate is finite
  double most_cores = kUnlimited;  // more would be idle
  // Cores of the supply for work that cannot leave its trainer. The job has them while it is
  // admitted; they are not granted.
  double pinned_cores = 0;
  std::int32_t dataset = -1;  // position in Snapshot::datasets; -1: nothing to cache
  // Its part of the batches on each of Dataset::hosts, weights. Empty: as of all jobs of the data set.
  std::vector<double> served;
  // Share of its reads that the cache answers now. Samples cached in one epoch are read again in
  // the next. So it is less than cached_bytes / bytes during an epoch.
  double effective_hit = 0;
  double remaining_samples = kUnlimited;  // kUnlimited: not known
  double received_samples = 0;            // so far
  double received = 0;                    // GPU-seconds so far
};

struct Snapshot {
  Resources supply;
  std::vector<Tenant> tenants;  // at least one
  std::vector<Dataset> datasets;
  std::vector<JobView> jobs;  // in order of arrival
  // Part of its fair share that each job surely has, 0..1 (fair_share.h); none: the policy's own.
  std::optional<double> floor;
  bool shared_cache_first = false;  // see SharedFirst (divide.h)
};

struct Grant {
  bool admitted = false;
  double cores = 0;
  double source_rate = 0;  // bytes/s; kUnlimited where the supply is
  double rate = 0;         // samples/s that the estimator expects
  std::string reason;      // why it is not admitted, for people
  GrantWhy why = {};       // if it is
};
struct Allocation {
  std::vector<Grant> jobs;            // in the order of Snapshot::jobs
  std::vector<double> dataset_bytes;  // quota of the cache, as Snapshot::datasets
};

// Immutable; thread-safe.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // One line for `--help` and the documentation.
  [[nodiscard]] virtual std::string_view summary() const = 0;
  // For people, what a job has that the policy prefers: completes "it has more, because ...".
  [[nodiscard]] virtual std::string_view preference() const { return "the policy prefers it"; }
  // Gives the same allocation for the same snapshot. Every allocation holds to this:
  // - it exceeds no resource of the supply, no tenant's quota and no job's most_cores;
  // - jobs that are not admitted get nothing, and have a reason;
  // - every admitted job runs at some rate while there is anything (fair_share.h).
  [[nodiscard]] virtual Allocation Decide(const Snapshot& snapshot) const = 0;
  // True: a running job may have to give its GPUs to another job (Gavel's rounds).
  [[nodiscard]] virtual bool preempts() const { return false; }
};

// The policies of this build by name. Thread-compatible; immutable once filled.
class PolicyRegistry {
 public:
  void Register(std::unique_ptr<Policy> policy);
  // nullptr if there is no such policy.
  [[nodiscard]] const Policy* Find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> Names() const;

 private:
  std::map<std::string, std::unique_ptr<Policy>, std::less<>> policies_;
};

}  // namespace headrace::coordinator

namespace headrace {
// Generated from the folders beside this one.
void RegisterPolicies(coordinator::PolicyRegistry& registry);
}  // namespace headrace
