// Samples that workers were lost with: found by one trainer, kept from the workers of all.
#include "schemas/wire/bad_samples.h"

#include <string>
#include <vector>

#include "coordinator/step_test_util.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

constexpr std::uint64_t kDataSet = 77;

wire::BadSample Large() {
  return {.data_set = kDataSet,
          .row = 3,
          .name = "/data/large.png",
          .cause = "264 MB",
          .times = 2,
          .held_back = true};
}

wire::ConsumerHeartbeat BeatOf(const wire::JobOpened& job) {
  wire::ConsumerHeartbeat beat{1, job.job, job.consumer, {}, {}};
  beat.data_sets = {kDataSet};
  return beat;
}

TEST(CoordinatorBadSamples, WhatOneJobFindsIsToldToAllThatReadTheDataSet) {
  Cluster cluster;
  const auto finder = cluster.OpenJob("token-aaaa"), other = cluster.OpenJob("token-bbbb");
  EXPECT_TRUE(cluster.Ask<wire::Leases>(BeatOf(other)).held_back.empty());
  wire::ConsumerHeartbeat beat = BeatOf(finder);
  beat.bad = {Large(), {.data_set = kDataSet, .row = 4, .name = "truncated.jpg"}};
  (void)cluster.Ask<wire::Leases>(beat);
  const auto told = cluster.Ask<wire::Leases>(BeatOf(other)).held_back;
  ASSERT_EQ(told.size(), 1U) << "what only raised is none of their business";
  EXPECT_EQ(told[0], Large());
  wire::ConsumerHeartbeat elsewhere = BeatOf(other);
  elsewhere.data_sets = {kDataSet + 1};
  EXPECT_TRUE(cluster.Ask<wire::Leases>(elsewhere).held_back.empty());
  // It outlives the job that found it.
  cluster.Send(wire::CloseJob{finder.job, "token-aaaa"});
  EXPECT_EQ(cluster.Ask<wire::Leases>(BeatOf(other)).held_back.size(), 1U);
}

TEST(CoordinatorBadSamples, ASessionKnowsThemBeforeItsFirstBatch) {
  Cluster cluster;
  const auto finder = cluster.OpenJob("token-aaaa"), other = cluster.OpenJob("token-bbbb");
  const std::uint64_t data_set = wire::DataSetOf(SmallPlan());
  ASSERT_NE(data_set, 0U);
  wire::ConsumerHeartbeat beat{1, finder.job, finder.consumer, {}, {}};
  beat.data_sets = {data_set};
  beat.bad = {Large()};
  beat.bad[0].data_set = data_set;
  (void)cluster.Ask<wire::Leases>(beat);
  const auto opened =
      cluster.Ask<wire::SessionOpened>(wire::OpenSession{1, other.job, SessionId(42), SmallPlan()});
  ASSERT_EQ(opened.held_back.size(), 1U);
  EXPECT_EQ(opened.held_back[0].row, 3);
}

// All that the coordinator knew durably.
State AfterARestart(const State& state) {
  State again;
  for (const Update& update : state.Snapshot()) EXPECT_TRUE(again.Apply(update).ok());
  return again;
}

TEST(CoordinatorBadSamples, SurviveARestart) {
  Cluster cluster;
  const auto finder = cluster.OpenJob("token-aaaa"), other = cluster.OpenJob("token-bbbb");
  wire::ConsumerHeartbeat beat = BeatOf(finder);
  beat.bad = {Large()};
  (void)cluster.Ask<wire::Leases>(beat);
  EXPECT_EQ(Cluster::DurableOf(cluster.last).size(), 1U) << "the journal has it before it is told";
  (void)cluster.Ask<wire::Leases>(beat);
  EXPECT_TRUE(Cluster::DurableOf(cluster.last).empty()) << "it is written once";
  cluster.state = AfterARestart(cluster.state);
  EXPECT_EQ(cluster.Ask<wire::Leases>(BeatOf(other)).held_back, std::vector{Large()});
  ASSERT_TRUE(cluster.state.Apply(ForgetHeldBack{}).ok());
  EXPECT_TRUE(AfterARestart(cluster.state).held_back().All().empty());
}

TEST(CoordinatorBadSamples, AListOfAllJobsHasTheLastFewOfEach) {
  Cluster cluster;
  const auto job = cluster.OpenJob("token-aaaa");
  cluster.OpenJob("token-bbbb");
  wire::ConsumerHeartbeat beat = BeatOf(job);
  for (std::int64_t row = 0; row < 10; ++row) {
    beat.bad.push_back({.data_set = kDataSet, .row = row, .held_back = true});
  }
  (void)cluster.Ask<wire::Leases>(beat);
  const auto shown = [&](JobId whole) {
    wire::StatusQuery query{.request = 1};
    query.whole = whole;
    return cluster.Ask<wire::ClusterStatus>(query).jobs.at(0);
  };
  for (const JobId whole : {JobId(), JobId(2), JobId(77)}) {
    EXPECT_EQ(shown(whole).bad_known, 10U);
    ASSERT_EQ(shown(whole).bad.size(), 3U);
    EXPECT_EQ(shown(whole).bad.back().row, 9) << "the newest";
  }
  EXPECT_EQ(shown(job.job).bad, beat.bad);
}

TEST(CoordinatorBadSamples, RanksOfOneGroupAreShownWholeTogether) {
  Cluster cluster;
  const auto open = [&](const std::string& token, const std::string& tenant) {
    wire::OpenJob m;
    m.token = token;
    m.group = "train";
    m.tenant = tenant;
    return cluster.Ask<wire::JobOpened>(m);
  };
  const auto one = open("token-aaaa", "t"), two = open("token-bbbb", "t"),
             other = open("token-cccc", "u");
  for (const auto& job : {one, two, other}) {
    wire::ConsumerHeartbeat beat = BeatOf(job);
    for (std::int64_t row = 0; row < 10; ++row) beat.bad.push_back({.row = row});
    (void)cluster.Ask<wire::Leases>(beat);
  }
  wire::StatusQuery query{.request = 1};
  query.whole = one.job;
  const auto jobs = cluster.Ask<wire::ClusterStatus>(query).jobs;
  EXPECT_EQ(jobs.at(0).bad.size(), 10U);
  EXPECT_EQ(jobs.at(1).bad.size(), 10U);
  EXPECT_EQ(jobs.at(2).bad.size(), 3U) << "another tenant's group of the same name";
}

TEST(CoordinatorBadSamples, AreShownWithTheirJobAndBounded) {
  Cluster cluster;
  const auto job = cluster.OpenJob("token-aaaa");
  wire::ConsumerHeartbeat beat = BeatOf(job);
  beat.bad = {Large()};
  (void)cluster.Ask<wire::Leases>(beat);
  EXPECT_EQ(cluster.Status().jobs.at(0).bad, beat.bad);
  for (std::int64_t row = 0; row < 200; ++row) {
    beat.bad.push_back(
        {.data_set = kDataSet, .row = row, .cause = std::string(9000, 'x'), .held_back = true});
  }
  (void)cluster.Ask<wire::Leases>(beat);
  wire::StatusQuery query{.request = 1};
  query.whole = job.job;
  const auto shown = cluster.Ask<wire::ClusterStatus>(query).jobs.at(0).bad;
  EXPECT_EQ(shown.size(), wire::kMostBadSamples);
  EXPECT_EQ(shown.back().cause, std::string(400, 'x'));
  EXPECT_EQ(cluster.Ask<wire::Leases>(beat).held_back.size(), wire::kMostBadSamples);
}

TEST(CoordinatorBadSamples, AJobSpeaksOfItsOwnDataSetsAlone) {
  Cluster cluster;
  const auto finder = cluster.OpenJob("token-aaaa"), other = cluster.OpenJob("token-bbbb");
  wire::ConsumerHeartbeat beat = BeatOf(finder);
  beat.bad = {Large()};
  beat.data_sets = {kDataSet + 1};
  (void)cluster.Ask<wire::Leases>(beat);
  EXPECT_TRUE(cluster.Ask<wire::Leases>(BeatOf(other)).held_back.empty());
}

}  // namespace
}  // namespace headrace::coordinator
