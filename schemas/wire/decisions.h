#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/ids.h"

// What the coordinator decides by, and why: parts of control.h.
namespace headrace::wire {

// What a policy is told that a job needs; of one rank.
struct JobNeed {
  double ready_rate = 0;  // samples/s to provide for; 0: nothing is measured yet
  double hit_cost = 0;    // seconds of a mean core for a sample that comes from the cache
  double miss_cost = 0;   // seconds of a mean core for a sample that is read and decoded
  double miss_bytes = 0;  // read from the source for a sample that is not cached
  double hit_share = 0;   // of its reads, 0 to 1
  friend bool operator==(const JobNeed&, const JobNeed&) = default;
};

// Why a job has the cores that it has, by the last decision; of all its ranks together.
struct GrantReason {
  std::string
      rule;  // "enough", "priority", "quota", "source", or the name of the policy; "": not known
  double cores = 0, wanted_cores = 0;
  double fair_cores = 0;   // its fair share
  double floor = 0;        // part of that which it surely has, 0 to 1
  JobId rival;             // the job that has most, for its fair share, of what this one lacks
  double rival_cores = 0;  // that it has
  std::string text;        // for people: the same
  friend bool operator==(const GrantReason&, const GrantReason&) = default;
};

// A tenant, as the coordinator was told of it. 0: no quota.
struct TenantRules {
  std::string name;
  double weight = 1;
  double gpus = 0, cores = 0, cache_bytes = 0, source_bytes_per_second = 0;
  friend bool operator==(const TenantRules&, const TenantRules&) = default;
};
// The most tenants of a message; more is refused.
inline constexpr std::size_t kMaxTenants = 1 << 16;

// How the coordinator decides: with what jobs need and workers have, this makes its decisions.
struct PolicyRules {
  std::string policy;                  // "": an older coordinator, which does not say
  double source_bytes_per_second = 0;  // of all sources together; 0: no limit
  double floor = -1;                   // part of fair shares that is sure; -1: the policy's own
  bool shared_cache_first = false;
  std::vector<TenantRules> tenants;
  friend bool operator==(const PolicyRules&, const PolicyRules&) = default;
};

}  // namespace headrace::wire
