// What people see of slow workers, of bad samples and of programs that find no room.
#include <nlohmann/json.hpp>

#include "cli/show.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

wire::ClusterStatus WithSlowWorker() {
  wire::ClusterStatus status;
  wire::WorkerStatus slow;
  slow.info.worker = WorkerId(3);
  slow.info.host.hostname = "node2";
  slow.state = "draining";
  slow.reason = "slow for 2 programs; for job 5 it rests: late";
  slow.slow_for = {JobId(5)};
  wire::WorkerStatus fine;
  fine.info.worker = WorkerId(4);
  fine.state = "ready";
  status.workers = {slow, fine};
  wire::JobStatus job;
  job.job = JobId(5);
  status.jobs = {job, job};
  status.jobs[1].job = JobId(6);
  return status;
}

TEST(SlowShow, WorkersAndTopSayWhy) {
  const auto status = WithSlowWorker();
  const std::string line =
      "worker 3 on node2 is draining: slow for 2 programs; for job 5 it rests: late\n";
  EXPECT_EQ(SlowLines(status), line);
  EXPECT_THAT(TopPage("tcp://x:1", status, nullptr), HasSubstr(line));
  const auto workers = nlohmann::json::parse(WorkersJson(status))["workers"];
  EXPECT_EQ(workers[0]["reason"], status.workers[0].reason);
  EXPECT_EQ(workers[0]["slow_for"], nlohmann::json::array({5}));
  EXPECT_EQ(workers[1]["reason"], "");
}

TEST(SlowShow, APageOfAJobThatFindsItSlowSaysWhy) {
  const auto status = WithSlowWorker();
  EXPECT_THAT(*JobPage(status, JobId(5)),
              HasSubstr("slow      worker 3 on node2 (draining): slow for 2 programs;"));
  EXPECT_THAT(*JobPage(status, JobId(6)), Not(HasSubstr("slow")));
}

TEST(SlowShow, OfManyBadSamplesTheNumberIsSaid) {
  auto status = WithSlowWorker();
  status.jobs[0].bad = {{.row = 7, .cause = "truncated"}};
  status.jobs[0].bad_known = 12;
  EXPECT_THAT(*JobPage(status, JobId(5)),
              AllOf(HasSubstr("bad       12 samples, the last of them:"),
                    HasSubstr("sample 7: truncated")));
  EXPECT_EQ(nlohmann::json::parse(JobsJson(status))["jobs"][0]["bad_samples_known"], 12);
  status.jobs[0].bad_known = 0;  // an older coordinator
  EXPECT_THAT(*JobPage(status, JobId(5)), Not(HasSubstr("samples, the last")));
  EXPECT_EQ(nlohmann::json::parse(JobsJson(status))["jobs"][0]["bad_samples_known"], 1);
}

TEST(SlowShow, ProgramsWithoutRoomAreCounted) {
  auto status = WithSlowWorker();
  EXPECT_EQ(RoomLine(status), "");
  status.programs_without_room = 1;
  EXPECT_THAT(RoomLine(status), HasSubstr("1 program waits for room"));
  status.programs_without_room = 2;
  EXPECT_THAT(TopPage("tcp://x:1", status, nullptr), HasSubstr("2 programs wait for room"));
}

}  // namespace
}  // namespace headrace::cli
