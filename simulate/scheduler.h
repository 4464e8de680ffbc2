#pragma once

#include <span>
#include <string_view>

#include "coordinator/policy/core/policy.h"
#include "simulate/cluster.h"

namespace headrace::simulate {

// What is known when resources are divided.
struct View {
  const coordinator::Snapshot& snapshot;
  const Cluster& cluster;
  // In the order of Snapshot::jobs: samples/s in the last period, and cores granted. 0: it does not
  // run.
  std::span<const double> rates;
  std::span<const double> cores;
  // Cores that the job holds on its own host while it runs; 0: none, or its input can leave it.
  std::span<const double> pinned;
  // The same: how often it was stopped. Empty: never, any of them.
  std::span<const int> stops;
  bool round = true;     // GPUs may be taken away now
  double restart_s = 0;  // see EngineOptions
  double now_s = 0;      // on the clock of JobView::arrival_s
};

// Divides the cluster: one of the coordinator's policies, or a baseline from a paper. One thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Follows coordinator::Policy::Decide, except that a job may get cores that it cannot use.
  [[nodiscard]] virtual coordinator::Allocation Decide(const View& view) = 0;
  [[nodiscard]] virtual bool preempts() const { return false; }
  // True, with preempts(): jobs that wait take what is free between rounds.
  [[nodiscard]] virtual bool fills_between_rounds() const { return false; }
  // True: each job's demand comes from a Controller. False: it comes only from measurements.
  [[nodiscard]] virtual bool has_controllers() const { return false; }
  // False: it wants another call after the next period.
  [[nodiscard]] virtual bool settled() const { return true; }
};

// Runs one of the coordinator's own policies. `policy` must outlive it.
class PolicyScheduler final : public Scheduler {
 public:
  explicit PolicyScheduler(const coordinator::Policy& policy) : policy_(policy) {}
  [[nodiscard]] coordinator::Allocation Decide(const View& view) override {
    return policy_.Decide(view.snapshot);
  }
  [[nodiscard]] bool preempts() const override { return policy_.preempts(); }
  [[nodiscard]] bool has_controllers() const override { return true; }

 private:
  const coordinator::Policy& policy_;
};

}  // namespace headrace::simulate
