#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

// Who gets which workers. A policy decides, the coordinator applies: Decide is a pure function of a
// snapshot, so that a simulator can run the very same code. One folder each
// (docs/howto/add-policy.md).
namespace headrace::coordinator {

struct JobDemand {
  JobId job;
  std::int32_t wanted_workers = 0;  // 0: as many as there are
  std::string host;                 // of the consumer; compare with WorkerSupply::host
};
struct WorkerSupply {
  WorkerId worker;
  std::int32_t cores = 1;
  std::string host;
};
// The jobs that run and the workers that can be leased, nothing else.
struct PolicySnapshot {
  std::vector<JobDemand> jobs;        // in order of arrival
  std::vector<WorkerSupply> workers;  // ascending ids
};
// Every lease that should hold. A job that is missing holds none.
using LeaseSet = std::map<JobId, std::set<WorkerId>>;

// Immutable; thread-safe.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Names only jobs and workers of the snapshot; the same snapshot always gives the same set.
  // If there is a worker at all, every job gets at least one: workers are shared when they are few.
  [[nodiscard]] virtual LeaseSet Decide(const PolicySnapshot& snapshot) const = 0;
};

// The policies of this build by name. Thread-compatible; immutable once filled.
class PolicyRegistry {
 public:
  void Register(std::unique_ptr<Policy> policy);
  // nullptr if there is none.
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
