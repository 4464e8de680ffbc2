// What people see of jobs that have ended, and of what a job had in all.
#include <nlohmann/json.hpp>

#include "cli/show.h"
#include "cli/show_ended.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using testing::HasSubstr;

wire::ClusterStatus WithEnded() {
  wire::ClusterStatus status;
  status.wall_ms = 10'000'000;
  wire::EndedJob job{.job = JobId(7),
                     .name = "train\x1b.py",
                     .hostname = "node7",
                     .pid = 42,
                     .tenant = "vision",
                     .opened_ms = 2'200'000,
                     .ended_ms = 9'400'000,
                     .end = "ended",
                     .totals = {.samples = 1200,
                                .step_ns = 60'000'000'000,
                                .stall_source_ns = 30'000'000'000,
                                .stall_queue_ns = 10'000'000'000,
                                .cpu_seconds = 3600,
                                .granted_core_seconds = 7200}};
  status.ended = {job};
  status.jobs.emplace_back().job = JobId(8);
  status.jobs[0].totals = job.totals;
  return status;
}

TEST(EndedShow, TheTableSaysWhatAJobHad) {
  const std::string table = EndedTable(WithEnded());
  EXPECT_THAT(table, HasSubstr("JOB  NAME"));
  EXPECT_THAT(table, HasSubstr("vision  10m ago  2h0m  ended     1200    40%    2.00   1.00"));
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(EndedTable({}), "no job has ended\n");
}

TEST(EndedShow, CausesOfAStallComeByTheirWeight) {
  EXPECT_EQ(StallText(WithEnded().ended[0].totals), "40% of its time: source 30%, queue 10%");
  EXPECT_EQ(StallText({}), "0% of its time");
}

TEST(EndedShow, APageAndJsonAreThereForRunningAndEndedJobs) {
  const auto status = WithEnded();
  EXPECT_THAT(*JobPage(status, JobId(7)), HasSubstr("ended 10m ago, after 2h0m"));
  EXPECT_THAT(*JobPage(status, JobId(7)), HasSubstr("1200 samples; waited 40%"));
  EXPECT_THAT(*JobPage(status, JobId(8)), HasSubstr("1200 samples; waited 40%"));
  EXPECT_EQ(JobPage(status, JobId(9)).status().code(), Code::kNotFound);
  const auto ended = nlohmann::json::parse(*JobJson(status, JobId(7)));
  EXPECT_EQ(ended["state"], "ended");
  EXPECT_EQ(ended["totals"]["stall_seconds"]["source"], 30.0);
  EXPECT_EQ(ended["totals"]["samples"], 1200);
  const auto running = nlohmann::json::parse(*JobJson(status, JobId(8)));
  EXPECT_EQ(running["totals"]["stall_seconds"]["queue"], 10.0);
  EXPECT_EQ(nlohmann::json::parse(JobsJson(status))["ended_jobs"][0]["job"], 7);
  EXPECT_EQ(JobJson(status, JobId(9)).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace headrace::cli
