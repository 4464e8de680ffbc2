// What people see of links, racks and unequal workers.
#include "cli/show.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

wire::ClusterStatus OneOfEach() {
  wire::ClusterStatus status;
  status.workers.emplace_back().info.worker = WorkerId(3);
  status.jobs.emplace_back().job = JobId(5);
  return status;
}

TEST(LinkShow, WorkersHaveColumnsWhereALinkOrARackIsKnown) {
  auto status = OneOfEach();
  EXPECT_THAT(WorkersTable(status), Not(HasSubstr("LINK")));
  status.workers[0].info.link_bytes_per_second = std::uint64_t{1192} << 20;
  EXPECT_THAT(WorkersTable(status), AllOf(HasSubstr("LINK  RACK"), HasSubstr("1.2G/s     -")));
  status.workers[0].info.rack = "west\x1b";
  EXPECT_THAT(WorkersTable(status), AllOf(HasSubstr("1.2G/s  west"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(WorkersJson(status), AllOf(HasSubstr("\"link_bytes_per_second\": 1249902592"),
                                         HasSubstr("\"rack\": \"west")));
}

TEST(SpeedShow, WorkersHaveAColumnWhereOneIsNoMeanCore) {
  auto status = OneOfEach();
  EXPECT_THAT(WorkersTable(status), Not(HasSubstr("SPEED")));
  status.workers.emplace_back().speed = 0.5;
  EXPECT_THAT(WorkersTable(status),
              AllOf(HasSubstr("SPEED"), HasSubstr("1.00"), HasSubstr("0.50")));
  EXPECT_THAT(WorkersJson(status), HasSubstr("\"speed\": 0.5"));
}

TEST(LinkShow, APageOfAJobHasItsShare) {
  auto status = OneOfEach();
  EXPECT_THAT(*JobPage(status, JobId(5)), Not(HasSubstr("network")));
  status.jobs[0].link_bytes_per_second_share = std::uint64_t{119} << 20;
  status.jobs[0].sent_bytes_per_sample = 147U << 10;
  EXPECT_THAT(*JobPage(status, JobId(5)), HasSubstr("network   at most 119M/s, 147K a sample\n"));
}

}  // namespace
}  // namespace headrace::cli
