#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "coordinator/step_test_util.h"

// The whole loop on a fake clock: clients' reports, controllers, policy, placement, and the grants
// that workers receive.
namespace headrace::coordinator {

// A trainer that takes `rate` samples/s of `cost` core-seconds, if its grant allows them.
struct FakeTrainer {
  wire::JobOpened job;
  double rate = 100;
  double cost = 0.01;
  double noise = 0;
  std::mt19937 rng{1};
  wire::SessionLoad load;
  double last_wait = 0;

  void Second(double cores) {
    const double now = rate * (1 + noise * std::uniform_real_distribution<double>(-1, 1)(rng));
    const double made = std::min(now, cores / cost);
    last_wait = 1 - made / now;
    load.samples += static_cast<std::uint64_t>(made);
    load.miss_samples = load.samples;
    load.step_ns += static_cast<std::uint64_t>(1e9 * (1 - last_wait));
    load.stall_ns += static_cast<std::uint64_t>(1e9 * last_wait);
    load.wait_compute_ns = load.stall_ns;
    load.miss_cpu_ns += static_cast<std::uint64_t>(1e9 * made * cost);
  }
};

class ElasticTest : public testing::Test {
 protected:
  ElasticTest() { cluster_.rules.plan.policy = policies_.Find("utilization"); }
  static PolicyRegistry Builtin() {
    PolicyRegistry registry;
    RegisterPolicies(registry);
    return registry;
  }

  void Workers(int count) {
    for (int i = 0; i < count; ++i) {
      workers_.push_back(cluster_.Register("worker-token-" + std::to_string(i)).worker);
    }
  }
  FakeTrainer Trainer(const std::string& token, double rate, double cost, bool lanes = false) {
    FakeTrainer trainer;
    trainer.job = cluster_.OpenJob(token);
    trainer.rate = rate;
    trainer.cost = cost;
    wire::OpenSession open;
    open.job = trainer.job.job;
    open.session = trainer.load.session = SessionId(trainer.job.job.value + 100);
    open.plan = SmallPlan();
    open.plan.has_python_stage = open.plan.python.replayed = lanes;
    open.plan.python.bundle = BlobHash(2);
    HR_CHECK(cluster_.Ask<wire::SessionOpened>(open).status.ok());
    return trainer;
  }
  [[nodiscard]] const std::set<WorkerId>& Leases(const FakeTrainer& trainer) const {
    return cluster_.state.FindJob(trainer.job.job)->leases;
  }
  [[nodiscard]] double Cores(const FakeTrainer& trainer) const {
    return cluster_.state.FindJob(trainer.job.job)->granted_cores();
  }
  // Lets a second pass: trainers go on with what they hold, all peers report, a period ends.
  void Second(std::vector<FakeTrainer*> trainers) {
    cluster_.Advance(std::chrono::seconds(1));
    for (FakeTrainer* trainer : trainers) {
      trainer->Second(Cores(*trainer));
      cluster_.Send(
          wire::ConsumerHeartbeat{1, trainer->job.job, trainer->job.consumer, {trainer->load}, {}});
    }
    for (const WorkerId id : workers_) cluster_.Heartbeat(id);
    cluster_.Tick();
    for (const Update& update : cluster_.last.updates) {
      lease_changes_ += std::holds_alternative<SetLeases>(update) ? 1 : 0;
      grant_changes_ += std::holds_alternative<SetGrants>(update) ? 1 : 0;
    }
  }

  PolicyRegistry policies_ = Builtin();
  Cluster cluster_;
  std::vector<WorkerId> workers_;
  int lease_changes_ = 0, grant_changes_ = 0;
};

}  // namespace headrace::coordinator
