#pragma once

#include <string>

#include "coordinator/policy/core/policy.h"

// Small clusters for the tests of policies.
namespace headrace::coordinator {

inline Snapshot Cluster(double cores) {
  Snapshot s;
  s.supply.cores = cores;
  s.tenants = {{"all"}};
  return s;
}

// Adds a job that needs rate * cost cores.
inline JobView& AddJobView(Snapshot& s, double rate, double cost, int gpus = 1) {
  JobView job;
  job.job = JobId(static_cast<std::int64_t>(s.jobs.size()) + 1);
  job.arrival_s = static_cast<double>(s.jobs.size());
  job.gpus = gpus;
  job.terms = {rate, 0, cost, 0};
  s.jobs.push_back(job);
  return s.jobs.back();
}

// Gives the whole decision of the policy of that name.
inline Allocation DecideWith(const std::string& name, const Snapshot& snapshot) {
  PolicyRegistry registry;
  RegisterPolicies(registry);
  return registry.Find(name)->Decide(snapshot);
}

}  // namespace headrace::coordinator
