#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coordinator/policy/core/policy.h"
#include "simulate/engine.h"
#include "simulate/random.h"

// Small clusters for tests.
namespace headrace::simulate {

// Makes a job of one GPU. Each iteration takes `step_s` seconds of its trainer and `core_s`
// core-seconds of input.
inline Job TestJob(double arrival_s, double iterations, double step_s, double core_s,
                   int gpus = 1) {
  Job job;
  job.id = "job";
  job.arrival_s = arrival_s;
  job.gpus = gpus;
  job.iterations = iterations;
  job.step_s = step_s;
  job.input_core_s = job.hit_core_s = core_s;
  return job;
}

inline const coordinator::Policy& PolicyNamed(const std::string& name) {
  static const auto& registry = *[] {
    auto* made = new coordinator::PolicyRegistry;
    RegisterPolicies(*made);
    return made;
  }();
  return *registry.Find(name);
}

// Gives GPUs to the jobs in order while they last, and `cores` to each.
class EqualCores final : public Scheduler {
 public:
  explicit EqualCores(double cores) : cores_(cores) {}
  coordinator::Allocation Decide(const View& view) override {
    coordinator::Allocation allocation;
    double free = view.snapshot.supply.gpus;
    for (const auto& job : view.snapshot.jobs) {
      coordinator::Grant grant;
      grant.admitted = job.gpus <= free;
      if (grant.admitted) {
        free -= job.gpus;
        grant.cores = cores_;
        grant.source_rate = coordinator::kUnlimited;
      }
      allocation.jobs.push_back(std::move(grant));
    }
    allocation.dataset_bytes.assign(view.snapshot.datasets.size(),
                                    view.snapshot.datasets.empty()
                                        ? 0
                                        : view.snapshot.supply.cache_bytes /
                                              static_cast<double>(view.snapshot.datasets.size()));
    return allocation;
  }

 private:
  double cores_;
};

}  // namespace headrace::simulate
