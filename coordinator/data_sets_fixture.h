#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "coordinator/dataset_orders.h"
#include "coordinator/step_test_util.h"

// A coordinator, workers of one host that say what they hold, and jobs that read data sets.
namespace headrace::coordinator {

constexpr std::uint64_t kMb = 1'000'000;

class DataSetsTest : public testing::Test {
 protected:
  DataSetsTest() { cluster_.rules.plan.policy = policies_.Find("utilization"); }
  static PolicyRegistry Builtin() {
    PolicyRegistry registry;
    RegisterPolicies(registry);
    return registry;
  }

  WorkerId Worker(const std::string& token, std::uint64_t cache_bytes = 1000 * kMb) {
    wire::RegisterWorker m;
    m.token = token;
    m.info.endpoints = {"ipc:///run/headrace/" + token};
    m.info.host = {"node1", "boot1", 1000, 6};
    m.info.cores = 4;
    m.info.version = cluster_.version;
    m.info.cache_bytes = cache_bytes;
    const WorkerId id = cluster_.Ask<wire::WorkerRegistered>(m).worker;
    beats_[id].worker = id;
    return id;
  }
  // Opens a job of the program whose first loader runs as Python.
  JobId Runs(const std::string& program, const std::string& loader, std::int64_t uid = 1000,
             const std::string& tenant = "") {
    wire::OpenJob open;
    open.token = "token-of-job-" + std::to_string(++opened_);
    open.name = program;
    open.host = {"node1", "boot1", static_cast<std::uint32_t>(uid), 5};
    open.version = cluster_.version;
    open.tenant = tenant;
    open.cache_bytes = wire::kNoCacheBound;
    const JobId job = cluster_.Ask<wire::JobOpened>(open).job;
    OpenStage(job, loader, SessionId(job.value + 100));
    return job;
  }
  void OpenStage(JobId job, const std::string& loader, SessionId id) {
    wire::OpenSession session;
    session.job = job;
    session.session = id;
    session.plan = SmallPlan();
    session.plan.has_python_stage = true;
    session.plan.name = loader;
    HR_CHECK(cluster_.Ask<wire::SessionOpened>(session).status.ok());
  }
  // Opens a job that reads `rows` samples called `name`.
  JobId Reads(const std::string& name, std::int64_t rows = 1000, const std::string& tenant = "") {
    wire::OpenJob open;
    open.token = "token-of-job-" + std::to_string(++opened_);
    open.host = {"node1", "boot1", 1000, 5};
    open.version = cluster_.version;
    open.tenant = tenant;
    open.cache_bytes = wire::kNoCacheBound;
    const JobId job = cluster_.Ask<wire::JobOpened>(open).job;
    OpenAgain(job, name, rows);
    return job;
  }
  // A loader of the job, natively.
  void OpenAgain(JobId job, const std::string& name, std::int64_t rows) {
    wire::OpenSession session;
    session.job = job;
    session.session = SessionId(job.value + 100);
    session.plan = SmallPlan();
    session.plan.name = name;
    session.plan.leaves[0].rows = rows;
    session.plan.leaves[0].table =
        BlobHash(static_cast<std::int64_t>(std::hash<std::string>()(name) >> 2));
    HR_CHECK(cluster_.Ask<wire::SessionOpened>(session).status.ok());
  }
  // What the worker has of the job, in its next heartbeats.
  void Holds(WorkerId worker, JobId job, std::uint64_t bytes) {
    auto& usage = beats_[worker].usage;
    std::erase_if(usage, [&](const auto& each) { return each.job == job; });
    if (bytes > 0) {
      usage.push_back({.job = job, .cache_bytes = bytes, .cache_entries = bytes / 100'000});
    }
  }
  // A control period in which each trainer takes 100 samples/s and each worker reports.
  void Period() {
    cluster_.Advance(std::chrono::seconds(1));
    for (const auto& [id, job] : cluster_.state.jobs()) {
      wire::SessionLoad& load = loads_[id];
      load.session = SessionId(id.value + 100);
      load.samples += 100;
      load.miss_samples += 100;
      load.step_ns += 500'000'000;
      load.stall_ns += 500'000'000;
      load.wait_compute_ns = load.stall_ns;
      load.miss_cpu_ns += cpu_ns_of_period_;
      load.source_bytes += static_cast<std::uint64_t>(100 * bytes_of_sample_);
      cluster_.Send(wire::ConsumerHeartbeat{1, id, job.spec.consumer, {load}, {}});
    }
    for (auto& [id, beat] : beats_) {
      for (const JobId job : cluster_.state.FindWorker(id)->jobs) {  // their sessions are attached
        const bool told =
            std::ranges::find(beat.usage, job, &wire::JobUsage::job) != beat.usage.end();
        if (!told) beat.usage.push_back({.job = job});
      }
      cluster_.Send(beat);
    }
    cluster_.Tick();
  }
  wire::DatasetOrdered Order(wire::DatasetAction action, const std::string& name,
                             std::uint64_t bytes = 0) {
    return cluster_.Ask<wire::DatasetOrdered>(
        wire::DatasetOrder{.request = 5, .action = action, .name = name, .bytes = bytes});
  }
  // The answer to its second heartbeat: what the first one says counts from then on.
  wire::WorkerDirective Told(WorkerId worker) {
    cluster_.Send(beats_.at(worker));
    return cluster_.Ask<wire::WorkerDirective>(beats_.at(worker));
  }
  wire::DatasetStatus Shown(const std::string& name) {
    for (wire::DatasetStatus& each : cluster_.Status().datasets) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << name << " is not shown";
    return {};
  }
  double Quota(JobId job) {
    double sum = 0;
    for (const auto& [id, grant] : cluster_.state.FindJob(job)->grants) {
      sum += static_cast<double>(grant.cache_bytes);
    }
    return sum;
  }

  PolicyRegistry policies_ = Builtin();
  Cluster cluster_;
  std::map<WorkerId, wire::WorkerHeartbeat> beats_;
  std::map<JobId, wire::SessionLoad> loads_;
  double bytes_of_sample_ = 20'000;
  std::uint64_t cpu_ns_of_period_ = 1'000'000'000;
  int opened_ = 0;
};

}  // namespace headrace::coordinator
