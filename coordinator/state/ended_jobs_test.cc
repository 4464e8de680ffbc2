#include "coordinator/state/ended_jobs.h"

#include <gtest/gtest.h>

#include "coordinator/state/state_test_util.h"

namespace headrace::coordinator {
namespace {

TEST(EndedJobs, TheOldestIsForgottenFirst) {
  EndedJobs jobs;
  const auto count = static_cast<std::int64_t>(EndedJobs::kMost) + 3;
  for (std::int64_t i = 1; i <= count; ++i) jobs.Add({.job = JobId(i)});
  ASSERT_EQ(jobs.all().size(), EndedJobs::kMost);
  EXPECT_EQ(jobs.all().front()->job, JobId(4));
  EXPECT_EQ(jobs.all().back()->job, JobId(count));
}

TEST(EndedJobs, ASnapshotHasThemAndOrdersOfRunningJobs) {
  State state;
  for (std::int64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(
        state.Apply(AddJob{JobId(i), ConsumerId(i), "token" + std::to_string(i), "train.py"}).ok());
  }
  wire::EndedJob ended{.job = JobId(2), .name = "train.py", .end = "ended"};
  ended.totals.samples = 7;
  ended.totals.cpu_seconds = 0.5;
  ASSERT_TRUE(state.Apply(RememberJob{ended}).ok());
  ASSERT_TRUE(state.Apply(RemoveJob{JobId(2)}).ok());
  ASSERT_TRUE(state.Apply(OrderJob{JobId(1), true, 5}).ok());
  State again;
  for (const Update& update : state.Snapshot()) ASSERT_TRUE(again.Apply(update).ok());
  ExpectSameState(again, state);
  ASSERT_EQ(again.ended_jobs().all().size(), 1U);
  EXPECT_EQ(*again.ended_jobs().all().front(), ended);
  EXPECT_TRUE(again.FindJob(JobId(1))->cancelled);
  EXPECT_EQ(again.FindJob(JobId(1))->priority(), 5);
  EXPECT_FALSE(again.FindJob(JobId(3))->cancelled);
  EXPECT_FALSE(again.Apply(OrderJob{JobId(2), true, {}}).ok());
}

// The program says its own priority again with each connection.
TEST(EndedJobs, AnOrderOutlivesThatTheJobIsOpenedAgain) {
  State state;
  AddJob add{JobId(1), ConsumerId(1), "token", "train.py"};
  add.priority = 2;
  ASSERT_TRUE(state.Apply(add).ok());
  EXPECT_EQ(state.FindJob(JobId(1))->priority(), 2);
  ASSERT_TRUE(state.Apply(OrderJob{JobId(1), true, -1}).ok());
  ASSERT_TRUE(state.Apply(add).ok());
  EXPECT_EQ(state.FindJob(JobId(1))->priority(), -1);
  EXPECT_TRUE(state.FindJob(JobId(1))->cancelled);
}

}  // namespace
}  // namespace headrace::coordinator
