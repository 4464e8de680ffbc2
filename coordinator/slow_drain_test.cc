// Slow workers: whose word drains one, and whose does not.
#include "coordinator/slow_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "coordinator/slow_drain_fixture.h"

namespace headrace::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SlowDrainTest, TwoProgramsThatAgreeForLongDrainIt) {
  const WorkerId slow = AddWorker(), other = AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).state, "ready");
  EXPECT_THAT(Shown(slow).reason, HasSubstr("slow for 2 programs; for job 1 it rests: late"));
  EXPECT_EQ(Shown(slow).slow_for, (std::vector<JobId>{one, two}));
  EXPECT_EQ(cluster_.Status().slow_workers, 1U);
  BeatFor(seconds(10));
  ASSERT_TRUE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).state, "draining");
  EXPECT_THAT(Shown(slow).reason, HasSubstr("slow for 2 programs"));
  EXPECT_EQ(Shown(slow).slow_for, (std::vector<JobId>{one, two})) << "jobs show tells it";
  EXPECT_EQ(cluster_.state.FindJob(one)->leases, std::set<WorkerId>{other});
  EXPECT_TRUE(cluster_.Heartbeat(slow).drain) << "the worker is told";
  EXPECT_EQ(cluster_.Status().slow_workers_drained, 1U);
  EXPECT_EQ(cluster_.Status().slow_workers, 0U);
}

TEST_F(SlowDrainTest, TheWarningSaysWhyOnce) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  std::vector<std::string> warnings;
  for (int i = 0; i < 200; ++i) {
    Beat();
    warnings.insert(warnings.end(), cluster_.last.warnings.begin(), cluster_.last.warnings.end());
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("worker 1 on node1 is drained: slow for 2 programs"));
}

TEST_F(SlowDrainTest, BothMustHaveSaidItForLong) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one}, slow);
  BeatFor(rules_.agreed);
  CallSlow({two}, slow);
  BeatFor(rules_.agreed - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, OneProgramAloneHasToSayItForLonger) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId job = AddJob();
  BeatFor(seconds(10));
  CallSlow({job}, slow);
  BeatFor(rules_.alone - seconds(4));
  EXPECT_FALSE(IsDrained(slow));
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, RanksOfOneProgramAreOneVoice) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob("", "train"), two = AddJob("", "train");
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.alone - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AProgramsWordIsThatOfItsFirstRank) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob("", "train"), two = AddJob("", "train"), other = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, other}, slow);
  idle_.insert(two);
  BeatFor(rules_.agreed - seconds(60));
  idle_.clear();
  CallSlow({two}, slow);
  BeatFor(seconds(70));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AWordThatWasTakenBackBeginsAnew) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  slow_[two].clear();
  Beat();
  CallSlow({two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhatWasSaidBeforeTheCoordinatorStoodStillDoesNotAddUp) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(seconds(10));
  ASSERT_TRUE(cluster_.state.Apply(RestartClocks{cluster_.clock.Now() + rules_.agreed}).ok());
  cluster_.Advance(rules_.agreed);
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhatALostJobSaidDoesNotAddUp) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed - seconds(10));
  ASSERT_TRUE(cluster_.state.Apply(MarkJobLost{two}).ok());
  BeatFor(rules_.agreed - seconds(10));
  EXPECT_FALSE(IsDrained(slow)) << "it is back, and says it anew";
}

TEST_F(SlowDrainTest, AWorkerWithWhichAJobIsContentStays) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob(), content = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  // One that has only the lease says nothing by it.
  idle_.insert(content);
  BeatFor(minutes(1));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, TheLastFitWorkerOfAJobStays) {
  const WorkerId slow = AddWorker(), other = AddWorker();
  const JobId one = AddJob(), two = AddJob(), third = AddJob();
  idle_.insert(third);
  unfit_[third] = {other};
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  AddWorker();
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AJobWithNothingToCompareWithHasNoSay) {
  const WorkerId slow = AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).reason, "");
}

TEST_F(SlowDrainTest, WhoCallsMostOfItsWorkersSlowHasNoSay) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 20; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  // Their other leases are idle but for one: their own network is bad.
  for (const JobId job : {one, two}) {
    CallSlow({job}, too);
    unfit_[job] = {workers_.begin() + 3, workers_.end()};
  }
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow));
  EXPECT_EQ(Shown(slow).reason, "");
}

TEST_F(SlowDrainTest, WhereManyAreSlowNobodyIsDrained) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 7; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  CallSlow({one, two}, too);
  BeatFor(minutes(40));
  EXPECT_THAT(drained_, IsEmpty()) << "2 of 9 are more than a fifth";
  AddWorker();
  BeatFor(seconds(10));
  EXPECT_EQ(drained_.size(), 1U);
}

TEST_F(SlowDrainTest, OneAtATimeAndNotSoonAfterEachOther) {
  const WorkerId slow = AddWorker(), too = AddWorker();
  for (int i = 0; i < 8; ++i) AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  CallSlow({one, two}, too);
  BeatFor(rules_.agreed + rules_.pause + minutes(5));
  ASSERT_EQ(drained_.size(), 1U) << "the first one has not ended";
  Leave(drained_[0].first);
  AddWorker();
  BeatFor(seconds(10));
  ASSERT_EQ(drained_.size(), 2U);
  EXPECT_GE(drained_[1].second - drained_[0].second, rules_.pause);
  Leave(drained_[1].first);
  const WorkerId third = AddWorker();
  AddWorker();
  CallSlow({one, two}, third);
  BeatFor(rules_.pause - seconds(10));
  EXPECT_EQ(drained_.size(), 2U);
  BeatFor(seconds(20));
  EXPECT_EQ(drained_.size(), 3U);
}

TEST_F(SlowDrainTest, OneTenantsWordTakesAWorkerFromNobodyElse) {
  const WorkerId slow = AddWorker();
  for (int i = 0; i < 3; ++i) AddWorker();
  const JobId one = AddJob("liars"), two = AddJob("liars"), other = AddJob("others");
  idle_.insert(other);
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(slow)) << "the others may want it later";
  idle_.clear();
  CallSlow({other}, slow);
  BeatFor(rules_.agreed + seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, WhereOneTenantIsAloneItsWordIsEnough) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob("a"), two = AddJob("a"), other = AddJob("b");
  idle_.insert(other);
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(minutes(10));
  ASSERT_FALSE(IsDrained(slow));
  Close(other);
  BeatFor(seconds(10));
  EXPECT_TRUE(IsDrained(slow));
}

TEST_F(SlowDrainTest, AProgramsOwnWorkerStays) {
  const WorkerId local = AddWorker(true);
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  ASSERT_TRUE(cluster_.state.FindJob(one)->leases.contains(local));
  CallSlow({one, two}, local);
  BeatFor(minutes(40));
  EXPECT_FALSE(IsDrained(local));
}

TEST_F(SlowDrainTest, TheReasonSurvivesARestart) {
  const WorkerId slow = AddWorker();
  AddWorker();
  const JobId one = AddJob(), two = AddJob();
  BeatFor(seconds(10));
  CallSlow({one, two}, slow);
  BeatFor(rules_.agreed + seconds(10));
  ASSERT_TRUE(IsDrained(slow));
  State again;
  for (const Update& update : cluster_.state.Snapshot()) ASSERT_TRUE(again.Apply(update).ok());
  EXPECT_EQ(again.FindWorker(slow)->drain_reason, cluster_.state.FindWorker(slow)->drain_reason);
  EXPECT_NE(again.FindWorker(slow)->drain_reason, "");
}

}  // namespace
}  // namespace headrace::coordinator
