#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulate/what_if/live_state.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using testing::HasSubstr;

// Two programs on two workers: one of two ranks, which reads a data set, and one of which nobody knows how much it
// has left.
wire::ClusterStatus TheStatus() {
  wire::ClusterStatus status;
  status.version = "0.3";
  status.wall_ms = 1'000'000;
  status.rules = {"utilization", 1e8, 0.25, true, {{"a", 2, 0, 8, 0, 0}}};
  for (const int number : {4, 5, 7}) {
    wire::JobStatus job;
    job.job = JobId(number);
    job.name = "train.py";
    job.state = "running";
    job.opened_ms = 900'000;
    job.need = {100, 0.001, 0.01, 1e5, 0.5};
    job.remaining_samples = 5000;
    job.totals.samples = 1000;
    job.totals.step_ns = 50'000'000'000;
    job.granted_millicores = 500;
    if (number < 7) {
      job.group = "g";
      job.rank = number - 4;
    }
    status.jobs.push_back(job);
  }
  status.jobs[1].need.ready_rate = 300;
  status.jobs[1].need.miss_cost = 0.03;
  status.jobs[2].remaining_samples = -1;
  status.jobs[2].tenant = "a";
  status.jobs[2].priority = 3;
  for (const int number : {1, 2}) {
    wire::WorkerStatus worker;
    worker.info.worker = WorkerId(number);
    worker.info.cores = 4;
    worker.info.cache_bytes = 1'000'000'000;
    worker.state = "ready";
    status.workers.push_back(worker);
  }
  wire::DatasetStatus dataset;
  dataset.name = "ImageFolder(/data)";
  dataset.rows = 1500;
  dataset.bytes = 3'000'000'000;
  dataset.jobs = {JobId(4), JobId(5)};
  dataset.parts = {{.worker = WorkerId(1), .bytes = 600'000'000},
                   {.worker = WorkerId(2), .bytes = 300'000'000}};
  status.datasets = {dataset};
  return status;
}

// As the coordinator describes them: a data set of one job, whose rows are the samples of an epoch.
TEST(LiveStateOf, LeavesOfAStageAreADataSetWithItsTerms) {
  wire::ClusterStatus status = TheStatus();
  wire::DatasetStatus leaves;
  leaves.dataset = 99;
  leaves.name = "Own";
  leaves.form = "leaves";
  leaves.rows = 500;
  leaves.bytes = 250'000'000;
  leaves.jobs = {JobId(7)};
  leaves.parts = {{.worker = WorkerId(1), .bytes = 50'000'000}};
  status.datasets.push_back(leaves);
  const Result<LiveState> made = LiveStateOf(status);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Job& job = made->trace.jobs.at(1);
  ASSERT_EQ(job.id, "7");
  ASSERT_EQ(job.dataset, 1);
  EXPECT_EQ(made->trace.datasets.at(1).bytes, 250e6);
  EXPECT_EQ(made->start.cached_bytes.at(1), 50e6);
  EXPECT_NEAR(job.entry_bytes, 5e5, 1e-6);
  EXPECT_NEAR(job.terms().hit_cost, 0.001, 1e-12);
  EXPECT_NEAR(job.terms().miss_cost, 0.01, 1e-12);
}

TEST(LiveStateOf, SlowWorkersHaveFewerMeanCores) {
  wire::ClusterStatus status = TheStatus();
  status.workers[1].speed = 0.5;
  const Result<LiveState> made = LiveStateOf(status);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_NEAR(made->cluster.cores(), 4 + 2, 1e-12);
}

TEST(LiveStateOf, RanksAreOneJobAndWorkersOnePool) {
  const Result<LiveState> made = LiveStateOf(TheStatus());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const LiveState& state = *made;
  EXPECT_EQ(state.policy, "utilization");
  EXPECT_EQ(state.start.time_s, 1000);
  EXPECT_EQ(state.cluster.gpus, 3);
  EXPECT_NEAR(state.cluster.cores(), 8, 1e-12);
  EXPECT_EQ(state.cluster.cache_bytes, 2e9);
  EXPECT_EQ(state.cluster.source_rate, 1e8);
  EXPECT_EQ(state.cluster.floor, 0.25);
  EXPECT_TRUE(state.cluster.shared_cache_first);
  ASSERT_EQ(state.cluster.tenants.size(), 1U);
  EXPECT_EQ(state.cluster.tenants[0].weight, 2);
  EXPECT_EQ(state.cluster.tenants[0].quota.cores, 8);
  EXPECT_EQ(state.cluster.tenants[0].quota.gpus, kUnlimited);
  ASSERT_EQ(state.trace.jobs.size(), 2U);
  const Job& ranks = state.trace.jobs[0];
  EXPECT_EQ(ranks.id, "4");
  EXPECT_EQ(ranks.gpus, 2);
  EXPECT_NEAR(ranks.terms().ready_rate, 400, 1e-9);
  EXPECT_NEAR(ranks.terms().miss_cost, (100 * 0.01 + 300 * 0.03) / 400, 1e-12);
  EXPECT_NEAR(ranks.samples(), 12'000, 1e-6);
  EXPECT_EQ(ranks.dataset, 0);
  EXPECT_NEAR(ranks.entry_bytes, 2e6, 1e-6);
  const JobStart& start = state.start.jobs[0];
  EXPECT_TRUE(start.running);
  EXPECT_EQ(start.done, 2000);
  EXPECT_NEAR(start.unread, 3e9 - 500 * 2e6, 1) << "it is in its second epoch";
  EXPECT_NEAR(start.cached_share, 0.5, 1e-12);
  EXPECT_NEAR(start.run_s, 100, 1e-9);
  EXPECT_NEAR(start.useful_gpu_s, 100, 1e-9);
  EXPECT_NEAR(start.cores, 1, 1e-12);
  EXPECT_NEAR(state.start.cached_bytes[0], 9e8, 1);
  const Job& other = state.trace.jobs[1];
  EXPECT_EQ(other.id, "7");
  EXPECT_EQ(other.tenant, "a");
  EXPECT_EQ(other.priority, 3);
  EXPECT_TRUE(std::isinf(other.iterations));
  EXPECT_EQ(state.workers.size(), 2U);
  // It is a state that can be simulated from, and written.
  EXPECT_TRUE(ReadLiveState("test", LiveStateJson(state)).ok());
}

TEST(LiveStateOf, WhatDoesNotCountIsLeftOut) {
  wire::ClusterStatus status = TheStatus();
  status.jobs[0].state = "lost";
  status.jobs[1].need = {};
  status.workers[0].state = "draining";
  const Result<LiveState> state = LiveStateOf(status);
  ASSERT_TRUE(state.ok()) << state.status().message();
  ASSERT_EQ(state->trace.jobs.size(), 1U);
  EXPECT_EQ(state->trace.jobs[0].id, "7");
  EXPECT_EQ(state->unmeasured, std::vector<std::string>{"5"});
  EXPECT_NEAR(state->cluster.cores(), 4, 1e-12);
  EXPECT_EQ(state->cluster.cache_bytes, 1e9);
}

TEST(LiveStateOf, OthersNumbersAreNotBelieved) {
  wire::ClusterStatus status = TheStatus();
  status.jobs[2].need = {100, std::nan(""), -1, INFINITY, 7};
  status.rules.floor = 12;
  status.datasets[0].parts[0].bytes = ~std::uint64_t{0};
  const Result<LiveState> state = LiveStateOf(status);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->trace.jobs[1].input_core_s, 0);
  EXPECT_EQ(state->trace.jobs[1].sample_bytes, 0);
  EXPECT_EQ(state->start.jobs[1].cached_share, 1);
  EXPECT_FALSE(state->cluster.floor.has_value());
  EXPECT_LE(state->start.cached_bytes[0], 2e9);
  EXPECT_TRUE(ReadLiveState("test", LiveStateJson(*state)).ok());
}

TEST(LiveStateOf, SaysWhyThereIsNone) {
  wire::ClusterStatus status = TheStatus();
  status.jobs.clear();
  EXPECT_EQ(LiveStateOf(status).status().message(), "no job runs");
  status = TheStatus();
  for (wire::JobStatus& job : status.jobs) job.need = {};
  EXPECT_THAT(LiveStateOf(status).status().message(), HasSubstr("nothing is measured yet"));
  status = TheStatus();
  status.workers.clear();
  EXPECT_EQ(LiveStateOf(status).status().message(), "no worker is ready");
  status = TheStatus();
  status.rules = {};
  EXPECT_THAT(LiveStateOf(status).status().message(), HasSubstr("is of release 0.3"));
}

TEST(LiveStateOf, ARankStandsForItsProgram) {
  const wire::ClusterStatus status = TheStatus();
  EXPECT_EQ(ProgramOf(status, "5"), "4");
  EXPECT_EQ(ProgramOf(status, "7"), "7");
  EXPECT_EQ(ProgramOf(status, "99"), "99");
}

}  // namespace
}  // namespace headrace::simulate
