#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/slow_drain.h"
#include "coordinator/step_test_util.h"

namespace headrace::coordinator {

// Every job leases every worker. Each of them says something every two seconds.
class SlowDrainTest : public testing::Test {
 protected:
  static constexpr Duration kBeat = std::chrono::seconds(2);

  SlowDrainTest() { cluster_.rules.plan.lease_all = true; }

  WorkerId AddWorker(bool local = false) {
    const int number = ++names_;
    wire::RegisterWorker m;
    m.token = "worker-token-" + std::to_string(number);
    m.info.endpoints = {"tcp://10.0.0.1:7000"};
    m.info.host = {"node" + std::to_string(number), "boot", 1000, 6};
    if (local) m.info.host = kHostOfPrograms;
    m.info.cores = 4;
    m.info.local = local;
    const auto registered = cluster_.Ask<wire::WorkerRegistered>(m);
    EXPECT_TRUE(registered.status.ok()) << registered.status.ToString();
    workers_.push_back(registered.worker);
    return registered.worker;
  }
  JobId AddJob(const std::string& tenant = "", const std::string& group = "") {
    wire::OpenJob open;
    open.token = "job-token-" + std::to_string(++names_);
    open.host = kHostOfPrograms;
    open.tenant = tenant;
    open.group = group;
    const auto opened = cluster_.Ask<wire::JobOpened>(open);
    jobs_[opened.job] = opened.consumer;
    return opened.job;
  }
  void Close(JobId job) {
    cluster_.Send(wire::CloseJob{job});
    jobs_.erase(job);
  }
  void CallSlow(const std::vector<JobId>& jobs, WorkerId worker) {
    for (const JobId job : jobs) slow_[job].insert(worker);
  }

  // One round of heartbeats. A job gives work to each worker that it leases and does not call slow,
  // unless it is idle.
  void Beat() {
    cluster_.Advance(kBeat);
    for (const WorkerId id : workers_) {
      const Worker* worker = cluster_.state.FindWorker(id);
      if (worker == nullptr) continue;
      wire::WorkerHeartbeat beat;
      beat.worker = id;
      for (const auto& [job, consumer] : jobs_) {
        const bool uses = worker->jobs.contains(job) && !slow_[job].contains(id) &&
                          !unfit_[job].contains(id) && !idle_.contains(job);
        beat.usage.push_back({.job = job, .samples = made_[{job, id}] += uses});
      }
      cluster_.Send(beat);
    }
    for (const auto& [job, consumer] : jobs_) {
      wire::ConsumerHeartbeat beat{1, job, consumer, {}, {}};
      for (const WorkerId id : slow_[job]) beat.unfit.push_back({id, "rests: late", true});
      for (const WorkerId id : unfit_[job]) beat.unfit.push_back({id, "has not the file"});
      cluster_.Send(beat);
    }
    cluster_.Tick();
    for (const Update& update : cluster_.last.updates) {
      const auto* drain = std::get_if<DrainWorker>(&update);
      if (drain != nullptr) drained_.emplace_back(drain->worker, cluster_.clock.Now());
    }
  }
  void BeatFor(Duration time) {
    for (Duration past{}; past < time; past += kBeat) Beat();
  }
  [[nodiscard]] bool IsDrained(WorkerId worker) const {
    return std::ranges::any_of(drained_, [&](const auto& each) { return each.first == worker; });
  }
  // A drained worker ends.
  void Leave(WorkerId worker) {
    cluster_.Send(wire::LeaveWorker{worker});
    std::erase(workers_, worker);
  }
  wire::WorkerStatus Shown(WorkerId worker) {
    for (const wire::WorkerStatus& each : cluster_.Status().workers) {
      if (each.info.worker == worker) return each;
    }
    return {};
  }

  const wire::HostIdentity kHostOfPrograms{"node0", "boot", 1000, 5};
  Cluster cluster_;
  SlowRules& rules_ = cluster_.rules.slow;
  int names_ = 0;
  std::vector<WorkerId> workers_;
  std::map<JobId, ConsumerId> jobs_;
  std::map<JobId, std::set<WorkerId>> slow_, unfit_;
  std::set<JobId> idle_;
  std::map<std::pair<JobId, WorkerId>, std::uint64_t> made_;
  std::vector<std::pair<WorkerId, SteadyTime>> drained_;
};

}  // namespace headrace::coordinator
