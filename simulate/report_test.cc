#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulate/plot.h"
#include "simulate/simulate_test_util.h"
#include "simulate/summary.h"

namespace headrace::simulate {
namespace {

using testing::HasSubstr;

// Jobs of 10, 20, 30 and 100 s on 2 GPUs.
struct Example {
  Trace trace;
  Cluster cluster;
  Outcome outcome;
  Example() {
    cluster.gpus = 2;
    cluster.cpu_per_gpu = 1;
    const double jct[] = {10, 20, 30, 100};
    const double fairness[] = {1, 1, 2, 4};
    for (std::size_t i = 0; i < 4; ++i) {
      trace.jobs.push_back(TestJob(5, 1, 1, 1));
      trace.jobs.back().id = std::string("j").append(std::to_string(i));
      JobOutcome each;
      each.job = i;
      each.start_s = 6;
      each.finish_s = 5 + jct[i];
      each.fairness = fairness[i];
      outcome.jobs.push_back(each);
    }
    outcome.refused = {7};
    outcome.first_arrival_s = 5;
    outcome.end_s = 105;
    outcome.useful_gpu_s = 50;
    outcome.held_gpu_s = 100;
    outcome.core_s = 20;
    outcome.hit_bytes = 30;
    outcome.remote_bytes = 10;
    outcome.timeline = {{5, 2, 1, 1, 3, 0, 0, 0}, {55, 1, 0.5, 2, 3, 0, 0, 0}};
  }
};

TEST(Summary, FiguresAreAsDefined) {
  const Example e;
  const Summary s = Summarise(e.trace, e.cluster, e.outcome);
  EXPECT_EQ(s.jobs_done, 4U);
  EXPECT_EQ(s.jobs_refused, 1U);
  EXPECT_DOUBLE_EQ(s.avg_jct_s, 40);
  EXPECT_DOUBLE_EQ(s.median_jct_s, 25);
  EXPECT_DOUBLE_EQ(s.p99_jct_s, 30 + 0.97 * 70);
  EXPECT_DOUBLE_EQ(s.avg_wait_s, 1);
  EXPECT_DOUBLE_EQ(s.makespan_s, 100);
  EXPECT_DOUBLE_EQ(s.gpu_util, 0.25);
  EXPECT_DOUBLE_EQ(s.gpu_util_held, 0.5);
  EXPECT_DOUBLE_EQ(s.cpu_util, 0.1);
  EXPECT_DOUBLE_EQ(s.fairness_min, 1);
  EXPECT_DOUBLE_EQ(s.fairness_p1, 1);
  EXPECT_DOUBLE_EQ(s.fairness_p5, 1);
  EXPECT_DOUBLE_EQ(s.fairness_jain, 64.0 / (4 * 22));
  EXPECT_DOUBLE_EQ(s.cache_hit, 0.75);
  EXPECT_DOUBLE_EQ(s.remote_bytes, 10);
}

TEST(Summary, PercentilesOfFairnessAreNotTheWorstJob) {
  Example e;
  e.outcome.jobs.clear();
  e.trace.jobs.assign(101, TestJob(0, 1, 1, 1));
  for (std::size_t i = 0; i <= 100; ++i) {
    JobOutcome each;
    each.job = i;
    each.finish_s = each.run_s = 1;
    each.fairness = static_cast<double>(i) / 100;
    e.outcome.jobs.push_back(each);
  }
  const Summary s = Summarise(e.trace, e.cluster, e.outcome);
  EXPECT_DOUBLE_EQ(s.fairness_min, 0);
  EXPECT_DOUBLE_EQ(s.fairness_p1, 0.01);
  EXPECT_DOUBLE_EQ(s.fairness_p5, 0.05);
}

// Two GPUs. Four jobs of 100 s alone come at once: in a quarter of the cluster a job has its GPU half of the
// time, so 200 s are fair. Of those of two GPUs, that is 400 s.
TEST(Summary, FinishTimeFairnessIsAgainstAnEqualPartOfTheCluster) {
  Example e;
  e.trace.jobs.assign(4, TestJob(0, 100, 1, 1));
  e.trace.jobs[3].gpus = 2;
  e.outcome.jobs.clear();
  for (std::size_t i = 0; i < 4; ++i) {
    JobOutcome each;
    each.job = i;
    each.finish_s = 300;
    each.run_s = 150;
    each.fairness = 100 / 150.0;
    e.outcome.jobs.push_back(each);
  }
  const Summary s = Summarise(e.trace, e.cluster, e.outcome);
  EXPECT_DOUBLE_EQ(s.finish_time_median, 1.5);
  EXPECT_DOUBLE_EQ(s.finish_time_unfair, 0.75);
  // Alone in the cluster, nobody takes turns.
  e.outcome.jobs.resize(1);
  EXPECT_DOUBLE_EQ(Summarise(e.trace, e.cluster, e.outcome).finish_time_p99, 3);
}

// Two GPUs. Jobs of 40 and 60 s come at 0 and 50 s. Until then 30 useful GPU-seconds were done: 10 of what the
// first one could have had are left.
TEST(Summary, TheWindowOfArrivalsAndItsBacklog) {
  Example e;
  e.trace.jobs = {TestJob(0, 40, 1, 1), TestJob(50, 60, 1, 1)};
  e.outcome.jobs.clear();
  for (std::size_t i = 0; i < 2; ++i) {
    JobOutcome each;
    each.job = i;
    each.finish_s = i == 0 ? 60 : 120;
    each.run_s = 60;
    each.useful_gpu_s = i == 0 ? 40 : 60;
    e.outcome.jobs.push_back(each);
  }
  e.outcome.useful_gpu_s = 100;
  e.outcome.timeline = {{0, 1, 0.5, 1, 1, 0, 0, 0}, {40, 2, 1, 1, 1, 0, 0, 0}};
  const Summary s = Summarise(e.trace, e.cluster, e.outcome);
  EXPECT_DOUBLE_EQ(s.gpu_util_window, 30 / 100.0);
  EXPECT_DOUBLE_EQ(s.backlog, 0.1);
}

TEST(Report, SharesOfTheBoundsAreShown) {
  Example e;
  Summary s = Summarise(e.trace, e.cluster, e.outcome);
  EXPECT_EQ(SummaryTable({}, s).find("bound"), std::string::npos);
  s.bounds = Bounds{{10, 20}, {50, 0.5, 1, 0.8}};
  const auto json = nlohmann::ordered_json::parse(SummaryJson({}, s));
  EXPECT_EQ(json["bounds"]["avg_jct_s"], 10.0);
  EXPECT_EQ(json["bounds"]["avg_jct_reached"], 0.25);
  EXPECT_EQ(json["bounds"]["gpu_util_reached"], 0.5);
  EXPECT_EQ(json["bounds"]["gpu_util_held_reached"], 0.5);
  const std::string table = SummaryTable({}, s);
  EXPECT_THAT(table, HasSubstr("bound, completion       at least 10 s: 25.0% reached"));
  EXPECT_THAT(table, HasSubstr("bound, GPUs             at most 50.0% of all: 50.0% reached"));
}

TEST(Summary, NoJobsAreNoDivisionByZero) {
  const Summary s = Summarise({}, {}, {});
  EXPECT_EQ(s.avg_jct_s, 0);
  EXPECT_EQ(s.gpu_util, 0);
}

TEST(Report, TheJsonBeginsWithTheAgreedKeys) {
  const Example e;
  Setting setting;
  setting.cluster = e.cluster;
  const auto json =
      nlohmann::ordered_json::parse(SummaryJson(setting, Summarise(e.trace, e.cluster, e.outcome)));
  const std::vector<std::string> agreed = {"avg_jct_s",     "median_jct_s", "p99_jct_s",
                                           "makespan_s",    "gpu_util",     "fairness_min",
                                           "fairness_jain", "cache_hit",    "remote_bytes"};
  auto it = json.begin();
  for (const std::string& key : agreed) EXPECT_EQ((it++).key(), key);
  EXPECT_EQ(json["avg_jct_s"], 40.0);
  EXPECT_TRUE(json["setting"]["source_bytes_per_s"].is_null());
}

TEST(Report, TheTableSpeaksOfRefusedJobs) {
  const Example e;
  const std::string table = SummaryTable({}, Summarise(e.trace, e.cluster, e.outcome));
  EXPECT_THAT(table, HasSubstr("jobs done               4 (1 ask for more GPUs"));
  EXPECT_THAT(table, HasSubstr("makespan                1 min 40 s"));
}

TEST(Report, RowsForJobsAndTime) {
  const Example e;
  EXPECT_THAT(JobsCsv(e.trace, e.outcome), HasSubstr("\nj3,,1,1,5,6,105,100,0,0,4,0\n"));
  EXPECT_THAT(TimelineCsv(e.outcome), HasSubstr("\n55,1,0.5,2,3,0,0,0,0\n"));
}

TEST(Report, RowsForTheCache) {
  Example e;
  e.trace.jobs[1].dataset = 0;
  e.trace.datasets = {{"photos, small", 100}};
  e.outcome.cache = {{7.5, 1, 80, 40, 0.25, 0.5}};
  EXPECT_EQ(CacheCsv(e.trace, e.outcome),
            "time_s,job_id,dataset,quota_bytes,cached_bytes,hit,wait\n"
            "7.5," +
                e.trace.jobs[1].id + ",\"photos, small\",80,40,0.25,0.5\n");
}

TEST(Plot, ChartsShowMeansOverTime) {
  const Example e;
  const auto charts = ChartsOf(e.trace, e.cluster, e.outcome);
  ASSERT_EQ(charts.size(), 3U);
  double held = 0;
  for (const auto& [x, y] : charts[1].second.curves[0].points) held += y;
  EXPECT_NEAR(held / static_cast<double>(charts[1].second.curves[0].points.size()), 1.5, 1e-9);
  for (const auto& [file, chart] : charts) {
    const std::string svg = ToSvg(chart);
    EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
    EXPECT_THAT(svg, testing::Not(HasSubstr("nan"))) << file;
    EXPECT_THAT(svg, testing::Not(HasSubstr("inf"))) << file;
  }
}

TEST(Plot, OddChartsStayWhole) {
  EXPECT_THAT(ToSvg({}), HasSubstr("</svg>"));
  Chart chart{"a<b & c", "x", "y", true, false, 0, {{"n", {{0, 1}, {1, 5}, {1000, 7}}}}};
  EXPECT_THAT(ToSvg(chart), HasSubstr("a&lt;b &amp; c"));
  Chart one{"t", "x", "y", false, false, 0, {{"n", {{3, 0}}}}};
  EXPECT_THAT(ToSvg(one), testing::Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace headrace::simulate
