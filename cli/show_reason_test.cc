// What people and programs see of the reason behind a grant.
#include <nlohmann/json.hpp>

#include "cli/show.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ShowReason, AJobsPageAndItsJsonNameTheRivalAndTheRule) {
  wire::ClusterStatus status;
  wire::JobStatus job;
  job.job = JobId(3);
  job.state = "running";
  status.jobs = {job};
  EXPECT_THAT(*JobPage(status, JobId(3)), Not(HasSubstr("why ")));
  auto json = nlohmann::json::parse(*JobJson(status, JobId(3)));
  EXPECT_TRUE(json["why"].is_null() && json["need"].is_null());
  status.jobs[0].why = {"fifo", 3.2,       8,   4,
                        0.5,    JobId(17), 5.3, "3.2 of 8.0 wanted cores: job 17\x1b"};
  status.jobs[0].need = {100, 0.001, 0.01, 1e5, 0.25};
  EXPECT_THAT(*JobPage(status, JobId(3)),
              HasSubstr("why       3.2 of 8.0 wanted cores: job 17?\n"));
  json = nlohmann::json::parse(*JobJson(status, JobId(3)));
  EXPECT_EQ(json["why"]["rule"], "fifo");
  EXPECT_EQ(json["why"]["rival"], 17);
  EXPECT_EQ(json["why"]["rival_cores"], 5.3);
  EXPECT_EQ(json["need"]["core_seconds_per_miss"], 0.01);
  status.jobs[0].why.rival = JobId();
  EXPECT_TRUE(nlohmann::json::parse(*JobJson(status, JobId(3)))["why"]["rival"].is_null());
}

}  // namespace
}  // namespace headrace::cli
