// What the planner makes of workers whose cores are not equally fast.
#include <random>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/step.h"

namespace headrace::coordinator {
namespace {

class PlannerSpeedTest : public ClusterPlannerTest {
 protected:
  // Workers on hosts of their own. A core of `speed` makes so many times the samples of a mean one.
  void AddWorkers(const std::vector<double>& speeds, int cores) {
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      speed_[Worker(cores, "pool" + std::to_string(i))] = speeds[i];
    }
  }
  // A second in which all compute what they were granted, for trainers that want `rate` samples/s of `cost`
  // seconds of a mean core each. Then the workers and trainers report, and the coordinator plans.
  void Second(double rate, double cost) {
    made_.clear();
    for (const auto& [id, job] : state_.jobs()) {
      for (const auto& [worker, grant] : job.grants) {
        made_[id] += grant.millicores / 1000.0 * speed_.at(worker) / cost;
      }
    }
    std::map<JobId, double> cpu;
    for (const auto& [worker, speed] : speed_) {
      std::vector<wire::JobUsage> usage;
      for (const auto& [id, job] : state_.jobs()) {
        const auto grant = job.grants.find(worker);
        if (grant == job.grants.end()) continue;
        const double cores = grant->second.millicores / 1000.0 * std::min(1.0, rate / made_.at(id));
        cpu[id] += cores;
        wire::JobUsage& total = usage_[{worker, id}];
        total.job = id;
        total.cpu_ns += static_cast<std::uint64_t>(cores * 1e9);
        total.samples += static_cast<std::uint64_t>(cores * speed / cost * 1e3);
        usage.push_back(total);
      }
      ClusterPlannerTest::Report(worker, usage);
    }
    for (const auto& [id, made] : made_) {
      const double samples = std::min(made, rate);
      wire::SessionLoad& load = loads_[id];
      load.session = SessionId(id.value);
      load.samples += static_cast<std::uint64_t>(samples);
      load.miss_samples += static_cast<std::uint64_t>(samples);
      load.miss_cpu_ns += static_cast<std::uint64_t>(cpu[id] * 1e9);
      const double busy = samples / rate;
      load.step_ns += static_cast<std::uint64_t>(busy * 1e9);
      load.stall_ns += static_cast<std::uint64_t>((1 - busy) * 1e9);
      load.wait_compute_ns += static_cast<std::uint64_t>((1 - busy) * 1e9);
      Apply(SeeConsumer{id, {}, {load}, true});
    }
    Apply(coordinator::EndPeriod{now_ += std::chrono::seconds(1)});
    Plan();
    for (const auto& [worker, speed] : speed_) {
      double granted = 0;
      for (const auto& [id, job] : state_.jobs()) {
        const auto grant = job.grants.find(worker);
        if (grant != job.grants.end()) granted += grant->second.millicores;
      }
      EXPECT_LE(granted, 1000 * state_.FindWorker(worker)->info.usable_cores() + 20)
          << "speed " << speed;
    }
  }

  std::map<WorkerId, double> speed_;
  std::map<JobId, double> made_;  // samples that the grants of the last second could make
  SteadyTime now_{std::chrono::seconds(1)};

 private:
  std::map<std::pair<WorkerId, JobId>, wire::JobUsage> usage_;
};

// Placement keeps a job on few workers. So of two equal jobs one would have the fast cores for ever.
TEST_F(PlannerSpeedTest, EqualJobsAreEqualOnUnequalWorkers) {
  for (const char* policy : {"utilization", "max_min_fair", "fifo", "sjf"}) {
    SCOPED_TRACE(policy);
    state_ = {};
    speed_.clear();
    rules_.policy = policies_.Find(policy);
    AddWorkers({1, 0.5, 1.5}, 4);
    const JobId first = Job(), second = Job();
    for (int i = 0; i < 900; ++i) Second(1000, 0.02);
    EXPECT_NEAR(made_[first] / made_[second], 1, 0.06);
    // All cores are used: 4 * 3 mean cores make 600 samples/s.
    EXPECT_NEAR(made_[first] + made_[second], 600, 30);
  }
}

TEST_F(PlannerSpeedTest, ADemandIsMetWithMoreOfSlowCores) {
  AddWorkers({1, 0.4}, 8);
  const JobId both = Job();
  for (int i = 0; i < 300; ++i) Second(10000, 0.02);  // it takes all, and so shows what they are
  const double slow = state_.speeds().Of(state_.workers().rbegin()->first);
  const double fast = state_.speeds().Of(state_.workers().begin()->first);
  EXPECT_NEAR(slow / fast, 0.4, 0.03);
  for (int i = 0; i < 300; ++i) Second(300, 0.02);
  // What people, and what-if, are told: workers' speeds, and costs on a mean core, wherever they were measured.
  Rules rules;
  rules.plan = rules_;
  const wire::ClusterStatus told = DescribeCluster(rules, state_, {}, {});
  ASSERT_EQ(told.workers.size(), 2U);
  EXPECT_EQ(told.workers[1].speed, state_.speeds().Of(told.workers[1].info.worker));
  ASSERT_EQ(told.jobs.size(), 1U);
  const double measured = state_.FindJob(both)->meter.demand().terms.miss_cost;
  EXPECT_NEAR(told.jobs[0].need.miss_cost, measured * SpeedOfCores(state_, *state_.FindJob(both)),
              1e-12);
  EXPECT_NEAR(told.jobs[0].need.miss_cost, 0.02 * fast, 0.002) << "a core of speed 1 takes 20 ms";
  EXPECT_GE(made_[both], 299) << "no step waits";
  EXPECT_LE(made_[both], 300 * 1.35) << "and little is idle";
}

TEST_F(PlannerSpeedTest, WhatEqualWorkersReportMovesNoGrant) {
  AddWorkers({1, 1, 1}, 4);
  const JobId job = Job();
  std::mt19937_64 random(3);
  std::normal_distribution<double> error(0, 0.05);
  for (int i = 0; i < 100; ++i) {
    for (auto& [worker, speed] : speed_) speed = 1 + error(random);
    Second(2000, 0.02);
  }
  for (const auto& [id, worker] : state_.workers()) EXPECT_EQ(state_.speeds().Of(id), 1);
  EXPECT_TRUE(made_.contains(job));
}

}  // namespace
}  // namespace headrace::coordinator
