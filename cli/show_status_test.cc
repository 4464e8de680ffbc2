#include "cli/show_status.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/show.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/frames.h"

namespace headrace::cli {
namespace {

using TestJson = nlohmann::ordered_json;

web::PageState AState() {
  web::PageState state;
  state.policy = "fifo";
  state.pool.name = "slurm";
  state.pool.reasons.push_back({"(Priority)", 2});
  state.cluster.pools = {{.name = "spot", .kind = "slurm", .state = "held", .preemptible = true}};
  wire::JobStatus job;
  job.job = JobId(17);
  job.name = "train\xff.py";
  job.sessions.emplace_back();
  state.cluster.jobs.push_back(job);
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(3);
  state.cluster.workers.push_back(worker);
  state.cluster.datasets.push_back({.dataset = 5, .name = "data"});
  return state;
}

TEST(StatusJsonTest, HasTheObjectsOfTheCommandsInOneLine) {
  const web::PageState state = AState();
  const std::string text = StatusJson(state);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const TestJson all = TestJson::parse(text);
  EXPECT_EQ(all["format"], 1);
  EXPECT_EQ(all["policy"], "fifo");
  EXPECT_EQ(all["pool"]["name"], "slurm");
  EXPECT_EQ(all["pool"]["reasons"][0]["members"], 2);
  EXPECT_EQ(all["pool"]["pools"][0]["name"], "spot");
  EXPECT_EQ(all["pool"]["pools"][0]["state"], "held");
  EXPECT_EQ(all["pool"]["pools"][0]["preemptible"], true);
  EXPECT_EQ(all["pool"]["pools"], TestJson::parse(PoolsJson(state.cluster))["pools"]);
  EXPECT_EQ(all["jobs"], TestJson::parse(JobsJson(state.cluster))["jobs"]);
  EXPECT_EQ(all["workers"], TestJson::parse(WorkersJson(state.cluster))["workers"]);
  EXPECT_EQ(all["datasets"], TestJson::parse(DatasetsJson(state.cluster))["datasets"]);
  EXPECT_EQ(TestJson::parse(JobObjectJson(state, JobId(17))), all["jobs"][0]);
  EXPECT_EQ(TestJson::parse(WorkerObjectJson(state, WorkerId(3))), all["workers"][0]);
  EXPECT_EQ(JobObjectJson(state, JobId(18)), "");
  EXPECT_EQ(WorkerObjectJson(state, WorkerId(4)), "");
}

// A column of the page's frames is a key of the objects, but for those that a row alone has.
TEST(StatusJsonTest, FramesHaveTheSameWords) {
  const TestJson all = TestJson::parse(StatusJson(AState()));
  const auto check = [&](const char* table, const std::vector<std::string>& columns,
                         const std::set<std::string>& own) {
    for (const std::string& column : columns) {
      EXPECT_EQ(all[table][0].contains(column), !own.contains(column)) << table << " " << column;
    }
  };
  check("jobs", web::JobColumns(), {"wait_shares", "worker_count", "unfit_count"});
  check("workers", web::WorkerColumns(),
        {"job_count", "busy_cores", "samples_per_second", "hit_share"});
  check("datasets", web::DatasetColumns(), {"job_count"});
}

}  // namespace
}  // namespace headrace::cli
