#include "coordinator/pool_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/played_pool.h"
#include "coordinator/pool/core/fake_reactor.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using MemberState = PoolMember::State;

class PoolKeeperTest : public testing::Test {
 protected:
  Status Begin(std::int32_t least, std::int32_t most, PoolPatience patience = {}) {
    keeper_ = std::make_unique<PoolKeeper>(
        reactor_,
        PoolKeeper::Options{
            .least = least, .most = most, .idle_after = seconds(60), .patience = patience});
    events_ = keeper_->Events([](WorkerId, double) {});
    std::vector<std::unique_ptr<Pool>> pools;
    pools.push_back(std::make_unique<FakePool>(pool_));
    return keeper_->Begin(std::move(pools), state_);
  }
  // A control period in which jobs want so many cores.
  std::vector<WorkerId> Second(double cores) {
    reactor_.Advance(seconds(1));
    keeper_->Look();
    return keeper_->Resize(state_, cores);
  }
  void Change(const Update& update) {
    ASSERT_TRUE(state_.Apply(update).ok());
    if (keeper_) keeper_->Tell(update, state_);
  }
  // Of two cores each, as a member that runs.
  void AddMember(std::int64_t id) {
    pool_.members.push_back({.state = MemberState::kRunning,
                             .handle = "m" + std::to_string(id),
                             .worker = WorkerId(id)});
    AddOf(id, 2);
  }
  void AddOf(std::int64_t id, std::int32_t cores) {
    AddWorker added;
    added.token = "token-of-" + std::to_string(id);
    added.info.worker = WorkerId(id);
    added.info.cores = cores;
    added.info.endpoints = {"tcp://node:7071"};
    added.info.member = "m" + std::to_string(id);
    Change(added);
  }

  FakeReactor reactor_;
  PlayedPool pool_;
  State state_;
  PoolEvents events_;
  std::unique_ptr<PoolKeeper> keeper_;
};

TEST_F(PoolKeeperTest, NothingIsAskedForBeforeThePoolKnowsWhatThereIs) {
  pool_.ready = false;
  ASSERT_TRUE(Begin(2, 4).ok());
  Second(8);
  EXPECT_THAT(pool_.grown, IsEmpty());
  AddMember(1);  // which it has found
  pool_.ready = true;
  Second(8);
  EXPECT_THAT(pool_.grown, ElementsAre(3));
}

TEST_F(PoolKeeperTest, WorkersOfTheJournalAreToldAndCounted) {
  AddMember(1);
  AddMember(2);
  Change(DrainWorker{WorkerId(2)});
  ASSERT_TRUE(Begin(3, 3).ok());
  EXPECT_THAT(pool_.heard, ElementsAre(std::pair("registered", 1), std::pair("registered", 2),
                                       std::pair("drain", 2)));
  EXPECT_THAT(pool_.grown, ElementsAre(1));
}

// It died before the coordinator did. The next one need not wait until the journal forgets it.
TEST_F(PoolKeeperTest, ALostWorkerOfTheJournalIsToldAsLost) {
  AddMember(1);
  Change(MarkWorkerLost{WorkerId(1)});
  ASSERT_TRUE(Begin(1, 1).ok());
  EXPECT_THAT(pool_.heard, ElementsAre(std::pair("registered", 1), std::pair("lost", 1)));
}

TEST_F(PoolKeeperTest, AFixedNumberIsKeptThoughTheEngineFails) {
  ASSERT_TRUE(Begin(2, 0).ok());
  EXPECT_THAT(pool_.grown, ElementsAre(2));
  pool_.members.clear();
  events_.on_failed(2, Unavailable("Slurm is down"));
  Second(0);
  EXPECT_THAT(pool_.grown, ElementsAre(2, 2)) << "after a pause, which doubles";
  pool_.members.clear();
  events_.on_failed(2, Unavailable("Slurm is down"));
  Second(0);
  EXPECT_THAT(pool_.grown, SizeIs(2));
  Second(0);
  EXPECT_THAT(pool_.grown, ElementsAre(2, 2, 2));
}

TEST_F(PoolKeeperTest, WhatLeavesOrIsLostIsReplacedAndWhatComesBackIsNot) {
  ASSERT_TRUE(Begin(0, 4).ok());
  AddMember(1);
  AddMember(2);
  Second(4);
  EXPECT_THAT(pool_.grown, IsEmpty());
  Change(MarkWorkerLost{WorkerId(1)});
  Change(DrainWorker{WorkerId(2)});
  EXPECT_THAT(pool_.heard,
              testing::IsSupersetOf({std::pair<std::string, std::int64_t>("lost", 1),
                                     std::pair<std::string, std::int64_t>("leaving", 2)}));
  pool_.members[0].state = MemberState::kLost;
  pool_.members[1].state = MemberState::kDraining;
  Second(4);
  EXPECT_THAT(pool_.grown, ElementsAre(2));
  Change(ReviveWorker{WorkerId(1)});
  EXPECT_EQ(pool_.heard.back(), std::pair(std::string("registered"), std::int64_t{1}));
  pool_.members[0].state = MemberState::kRunning;
  Second(4);
  EXPECT_THAT(pool_.grown, SizeIs(1));
}

TEST_F(PoolKeeperTest, WhatIsQueuedIsGivenUpBeforeWhatRuns) {
  ASSERT_TRUE(Begin(0, 4).ok());
  AddMember(1);
  pool_.members.push_back({.state = MemberState::kQueued, .handle = "q1"});
  pool_.members.push_back({.state = MemberState::kQueued, .handle = "q2"});
  Second(6);
  std::vector<WorkerId> drained;
  for (int i = 0; i < 62; ++i) {
    for (const WorkerId id : Second(1)) drained.push_back(id);
    if (!pool_.killed.empty()) break;
  }
  EXPECT_THAT(pool_.killed, ElementsAre("q2", "q1"));
  EXPECT_THAT(drained, IsEmpty());
}

TEST_F(PoolKeeperTest, AMemberThatNeverComesIsEndedAndAnotherIsAskedForLater) {
  PoolPatience patience;
  patience.queued = seconds(10);
  ASSERT_TRUE(Begin(1, 0, patience).ok());
  pool_.members = {{.state = MemberState::kQueued, .handle = "q1", .note = "Resources"}};
  for (int i = 0; i < 11; ++i) Second(0);
  EXPECT_THAT(pool_.killed, ElementsAre("q1"));
  pool_.members.clear();
  Second(0);
  Second(0);
  EXPECT_THAT(pool_.grown, ElementsAre(1, 1));
}

TEST_F(PoolKeeperTest, TheNumberThatJobsAskForIsTold) {
  ASSERT_TRUE(Begin(1, 4).ok());
  EXPECT_EQ(keeper_->desired_workers(), 1);
  (void)Second(5);
  EXPECT_EQ(keeper_->desired_workers(), 3) << "of two cores each";
  (void)Second(100);
  EXPECT_EQ(keeper_->desired_workers(), 4);
  (void)Second(0);
  EXPECT_EQ(keeper_->desired_workers(), 1) << "at once: whoever obeys it waits by itself";
}

// KEDA, say, has the number from the metric, and starts and ends the workers.
TEST_F(PoolKeeperTest, WorkersThatOthersStartAndEndAreCountedAndLeftAlone) {
  pool_.starts = false;
  ASSERT_TRUE(Begin(0, 10).ok());
  AddMember(1);
  EXPECT_THAT(Second(7), IsEmpty());
  EXPECT_EQ(keeper_->desired_workers(), 4) << "by the cores of those that are there";
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Second(0), IsEmpty());
  EXPECT_EQ(keeper_->desired_workers(), 0);
  EXPECT_THAT(pool_.grown, IsEmpty());
  EXPECT_THAT(pool_.killed, IsEmpty());
}

// A worker that is not of the pool makes three times the samples a core. So it gives more than its 8 cores, and a
// member less than its 2 (ADR 0089).
TEST_F(PoolKeeperTest, ItGrowsByTheSpeedsOfItsMembersAndOfOthers) {
  ASSERT_TRUE(Begin(0, 40).ok());
  AddMember(1);
  AddOf(9, 8);
  AddJob job;
  job.job = JobId(5);
  job.consumer = ConsumerId(5);
  job.token = "token-of-job";
  Change(job);
  std::map<std::int64_t, wire::JobUsage> usage;
  for (int second = 0; second < 120; ++second) {
    reactor_.Advance(seconds(1));
    for (const auto& [worker, samples] : std::map<std::int64_t, int>{{1, 100}, {9, 300}}) {
      wire::JobUsage& total = usage[worker];
      total.job = job.job;
      total.cpu_ns += 1'000'000'000;
      total.samples += static_cast<std::uint64_t>(samples);
      ReportWorker report{.at = reactor_.clock().Now()};
      report.report.worker = WorkerId(worker);
      report.report.usage = {total};
      Change(report);
    }
    Change(EndPeriod{reactor_.clock().Now()});
  }
  const double slow = state_.speeds().Of(WorkerId(1)), fast = state_.speeds().Of(WorkerId(9));
  ASSERT_GT(fast / slow, 2);
  (void)Second(20);
  EXPECT_EQ(keeper_->desired_workers(), std::ceil((20 - 8 * fast) / (2 * slow)));
  EXPECT_NE(keeper_->desired_workers(), 6) << "as many as if all were alike";
}

TEST_F(PoolKeeperTest, APoolThatNobodyHasGivenANumberIsLeftAlone) {
  ASSERT_TRUE(Begin(0, 0).ok());
  AddMember(1);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Second(i % 3), IsEmpty());
  EXPECT_THAT(pool_.grown, IsEmpty());
}

}  // namespace
}  // namespace headrace::coordinator
