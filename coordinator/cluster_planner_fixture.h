#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "coordinator/cluster_planner.h"

namespace headrace::coordinator {

// A state made by hand: jobs with known terms on workers.
class ClusterPlannerTest : public testing::Test {
 protected:
  ClusterPlannerTest() {
    RegisterPolicies(policies_);
    rules_.policy = policies_.Find("utilization");
  }

  void Apply(const Update& update) {
    const Status applied = state_.Apply(update);
    HR_CHECK(applied.ok());
  }
  WorkerId Worker(int cores, const std::string& host = "pool", std::uint64_t cache_bytes = 0,
                  std::uint32_t millicores = 0) {
    AddWorker add;
    add.token = "worker-token-" + std::to_string(state_.next_worker().value);
    add.info.worker = state_.next_worker();
    add.info.cores = cores;
    add.info.millicores = millicores;
    add.info.host = {host, host, 0, 1};
    add.info.cache_bytes = cache_bytes;
    Apply(add);
    Report(add.info.worker, {});
    return add.info.worker;
  }
  JobId Job(AddJob add = {}) {
    add.job = state_.next_job();
    add.consumer = state_.next_consumer();
    add.token = "job-token-" + std::to_string(add.job.value);
    if (add.host.hostname.empty()) add.host = {"home", "home", 0, 1};
    Apply(add);
    return add.job;
  }
  void Report(WorkerId worker, std::vector<wire::JobUsage> usage) {
    wire::WorkerHeartbeat beat;
    beat.worker = worker;
    beat.usage = std::move(usage);
    Apply(ReportWorker{{}, std::move(beat)});
  }
  // Makes the client's report for one second: 100% of `rate` would take `rate * cost` cores.
  void Report(JobId job, double rate, double cost, double bytes = 0) {
    wire::SessionLoad& load = loads_[job];
    load.session = SessionId(job.value);
    load.samples += static_cast<std::uint64_t>(rate);
    load.step_ns += 1'000'000'000;
    load.miss_samples += static_cast<std::uint64_t>(rate);
    load.miss_cpu_ns += static_cast<std::uint64_t>(rate * cost * 1e9);
    load.source_bytes += static_cast<std::uint64_t>(rate * bytes);
    Apply(SeeConsumer{job, {}, {load}, true});
  }
  void EndPeriod() { Apply(coordinator::EndPeriod{}); }
  // Plans, applies the plan, and returns it.
  ClusterPlan Plan() {
    ClusterPlan plan = MakePlan(rules_, state_);
    for (const JobPlan& each : plan.jobs) {
      std::vector<WorkerId> workers;
      for (const auto& [id, grant] : each.grants) workers.push_back(id);
      Apply(SetLeases{each.job, state_.FindJob(each.job)->generation + 1, workers});
      Apply(SetGrants{each.job, each.grants, each.reason});
    }
    return plan;
  }
  static double Cores(const JobPlan& plan) {
    double sum = 0;
    for (const auto& [id, grant] : plan.grants) sum += grant.millicores / 1000.0;
    return sum;
  }

  PolicyRegistry policies_;
  PlanRules rules_;
  State state_;
  std::map<JobId, wire::SessionLoad> loads_;
};

}  // namespace headrace::coordinator
