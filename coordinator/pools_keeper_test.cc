// A keeper of several pools, over pools and a clock that the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/played_pool.h"
#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/pool_keeper.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// Two pools: `spot`, which is cheap and pre-emptible, and `normal`. Members have two cores.
class PoolsKeeperTest : public testing::Test {
 protected:
  Status Begin(std::int32_t least, std::int32_t most,
               std::int32_t most_of_spot = PoolRules::kNoBound) {
    keeper_ = std::make_unique<PoolKeeper>(
        reactor_,
        PoolKeeper::Options{
            .least = least,
            .most = most,
            .idle_after = seconds(60),
            .pools = {{"spot", {.core_price = 0.01, .preemptible = true, .most = most_of_spot}},
                      {"normal", {.core_price = 0.04}}}});
    std::vector<std::unique_ptr<Pool>> made;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      events_[i] = keeper_->Events([](WorkerId, double) {}, i);
      made.push_back(std::make_unique<FakePool>(pools_[i]));
    }
    return keeper_->Begin(std::move(made), state_);
  }
  // A control period.
  std::vector<WorkerId> Second(double cores, const std::vector<double>& dearer = {}) {
    reactor_.Advance(seconds(1));
    keeper_->Look();
    return keeper_->Resize(state_, cores, dearer);
  }
  void Change(const Update& update) {
    ASSERT_TRUE(state_.Apply(update).ok());
    keeper_->Tell(update, state_);
  }
  // All members of the pool that were asked for have started and register.
  void Come(std::size_t pool) {
    for (PoolMember& member : pools_[pool].members) {
      if (member.state != PoolMember::State::kQueued) continue;
      const std::int64_t id = next_++;
      member = {.state = PoolMember::State::kRunning,
                .handle = "m" + std::to_string(id),
                .worker = WorkerId(id)};
      AddWorker added;
      added.token = "token-of-" + std::to_string(id);
      added.info.worker = WorkerId(id);
      added.info.cores = 2;
      added.info.endpoints = {"tcp://node:7071"};
      added.info.member = member.handle;
      Change(added);
    }
  }
  // The engine tells a worker to leave. Pools of Slurm, Kubernetes and Ray mark it then.
  void Notice(std::size_t pool, std::size_t member) {
    Change(DrainWorker{pools_[pool].members[member].worker});
    pools_[pool].members[member].state = PoolMember::State::kDraining;
  }
  [[nodiscard]] std::vector<std::int32_t> Grown(std::size_t pool) const {
    return pools_[pool].grown;
  }
  [[nodiscard]] std::string StateOf(std::size_t pool) const {
    return keeper_->Describe().pools[pool].state;
  }

  FakeReactor reactor_;
  std::array<PlayedPool, 2> pools_;
  std::array<PoolEvents, 2> events_;
  State state_;
  std::unique_ptr<PoolKeeper> keeper_;
  std::int64_t next_ = 1;
};

TEST_F(PoolsKeeperTest, ThePreemptiblePoolComesFirstAndIsShownByName) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(6);
  EXPECT_THAT(Grown(0), ElementsAre(3));
  EXPECT_THAT(Grown(1), IsEmpty());
  const PoolReport report = keeper_->Describe();
  ASSERT_THAT(report.pools, SizeIs(2));
  EXPECT_EQ(report.pools[0].name, "spot");
  EXPECT_EQ(report.pools[0].kind, "fake");
  EXPECT_THAT(report.pools[0].members, SizeIs(3));
  EXPECT_EQ(report.pools[1].state, "usable");
}

TEST_F(PoolsKeeperTest, ANoticeAsksTheNextPoolInTheSameControlPeriod) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(6);
  Come(0);
  Notice(0, 1);
  EXPECT_THAT(pools_[0].heard, Contains(Pair("leaving", 2)));
  EXPECT_THAT(pools_[0].heard, Contains(Pair("drain", 2))) << "or it would start it again itself";
  EXPECT_EQ(StateOf(0), "held");
  (void)keeper_->Resize(state_, 6);  // as with each message that changes leases
  EXPECT_THAT(Grown(0), ElementsAre(3));
  EXPECT_THAT(Grown(1), ElementsAre(1));
}

TEST_F(PoolsKeeperTest, AWorkerThatIsSilentOrEndsUnaskedWasTakenAwayToo) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(4);
  Come(0);
  Second(4);
  const WorkerId ended = pools_[0].members[0].worker;
  pools_[0].members.erase(pools_[0].members.begin());
  Change(RemoveWorker{ended});
  EXPECT_EQ(StateOf(0), "held");
  Second(4);
  EXPECT_THAT(Grown(1), ElementsAre(1));

  reactor_.Advance(PoolChoice::kHold + seconds(1));
  Come(1);
  Second(4);
  ASSERT_EQ(StateOf(0), "usable");
  pools_[0].members[0].state = PoolMember::State::kLost;
  Change(MarkWorkerLost{pools_[0].members[0].worker});
  EXPECT_EQ(StateOf(0), "held");
}

// By the word of a person, or by this coordinator's own.
TEST_F(PoolsKeeperTest, ADrainThatItsEngineDidNotOrderHoldsNothing) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(6);
  Come(0);
  Second(6);
  Change(DrainWorker{pools_[0].members[0].worker, "by order"});
  pools_[0].members[0].state = PoolMember::State::kDraining;
  pools_[0].members[1].state = PoolMember::State::kDraining;  // by Pool::Drain
  Change(DrainWorker{pools_[0].members[1].worker});
  Change(RemoveWorker{pools_[0].members[1].worker});
  EXPECT_EQ(StateOf(0), "usable");
  Second(6);
  EXPECT_THAT(Grown(0), ElementsAre(3, 2));
  EXPECT_THAT(Grown(1), IsEmpty());
}

TEST_F(PoolsKeeperTest, APoolThatRefusesAtOnceOrLaterIsPassedOver) {
  ASSERT_TRUE(Begin(0, 8).ok());
  pools_[0].answer = ResourceExhausted("the quota is used up");
  Second(6);
  EXPECT_THAT(Grown(1), ElementsAre(3)) << "in the same control period";
  Come(1);
  pools_[0].answer = Status::Ok();
  Second(6);
  Second(10);
  EXPECT_THAT(Grown(0), Contains(2));
  pools_[0].members.clear();
  events_[0].on_failed(2, ResourceExhausted("no node is free"));
  EXPECT_EQ(StateOf(0), "closed");
  (void)keeper_->Resize(state_, 10);
  EXPECT_THAT(Grown(1), ElementsAre(3, 2));
}

TEST_F(PoolsKeeperTest, TheDearestIsDrainedFirst) {
  ASSERT_TRUE(Begin(0, 8, 2).ok());
  Second(8);
  Come(0);
  Come(1);
  EXPECT_THAT(Grown(0), ElementsAre(2));
  std::vector<WorkerId> drained;
  for (int i = 0; i < 62 && drained.empty(); ++i) drained = Second(6);
  ASSERT_THAT(drained, SizeIs(1));
  EXPECT_THAT(pools_[1].members, Contains(testing::Field(&PoolMember::worker, drained[0])));
}

TEST_F(PoolsKeeperTest, AFixedNumberComesFromTheNextPoolAtTheStart) {
  pools_[0].answer = NotFound("no such engine");
  ASSERT_TRUE(Begin(2, 0).ok());
  EXPECT_THAT(Grown(1), ElementsAre(2));
  pools_[1] = {};
  pools_[1].answer = NotFound("no such engine");
  EXPECT_EQ(Begin(2, 0).code(), Code::kNotFound) << "as with one pool";
}

TEST_F(PoolsKeeperTest, WhatWasAskedForAtTheStartIsWaitedFor) {
  ASSERT_TRUE(Begin(2, 4).ok());
  EXPECT_THAT(Grown(0), ElementsAre(2));
  for (int i = 0; i < 59; ++i) Second(0);
  EXPECT_EQ(StateOf(0), "usable");
  EXPECT_THAT(Grown(1), IsEmpty());
  for (int i = 0; i < 3; ++i) Second(0);
  EXPECT_EQ(StateOf(0), "late");
  EXPECT_THAT(Grown(1), ElementsAre(2));
}

TEST_F(PoolsKeeperTest, APoolWithoutAnAnswerHoldsUpTheOthersForAWhileOnly) {
  pools_[0].ready = false;
  ASSERT_TRUE(Begin(2, 4).ok());
  for (int i = 0; i < 29; ++i) Second(4);
  EXPECT_THAT(Grown(1), IsEmpty()) << "it may have two already";
  Second(4);
  EXPECT_THAT(Grown(0), IsEmpty());
  EXPECT_THAT(Grown(1), ElementsAre(2));
}

// 12 cores are wanted at the price of `spot`, of which there are 4, and 6 at the price of `normal`.
TEST_F(PoolsKeeperTest, ItGrowsByThePriceOfThePoolThatTheNextWorkerComesFrom) {
  ASSERT_TRUE(Begin(0, 8, 2).ok());
  EXPECT_THAT(keeper_->core_prices(), ElementsAre(0.01, 0.04));
  EXPECT_DOUBLE_EQ(keeper_->next_core_price(), 0.01);
  Second(12, {6});
  EXPECT_THAT(Grown(0), ElementsAre(2));
  EXPECT_THAT(Grown(1), ElementsAre(1));
  Second(12, {6});
  EXPECT_DOUBLE_EQ(keeper_->next_core_price(), 0.04);
  EXPECT_EQ(keeper_->desired_workers(), 3);
  Second(12, {0});
  EXPECT_EQ(keeper_->desired_workers(), 2) << "the cheap ones are worth their price";
}

TEST_F(PoolsKeeperTest, PoolsWhoseWorkersAreOfUnequalSizeAreRefused) {
  pools_[1].cores = 4;
  const Status begun = Begin(0, 8);
  EXPECT_EQ(begun.code(), Code::kInvalidArgument);
  EXPECT_THAT(begun.message(), HasSubstr("normal has workers of 4 cores, and spot of 2"));
}

TEST_F(PoolsKeeperTest, APoolTellsItsTroubleWithWhatToDoUntilAMemberComes) {
  ASSERT_TRUE(Begin(0, 8).ok());
  EXPECT_TRUE(keeper_->Describe().pools[0].trouble.why.ok());
  pools_[0].answer = ResourceExhausted("exceeded quota").WithDetail(Detail::kQuota);
  Second(6);
  PoolReport::Named told = keeper_->Describe().pools[0];
  EXPECT_EQ(told.trouble.why, pools_[0].answer);
  EXPECT_TRUE(told.trouble.stands);
  EXPECT_EQ(told.trouble.age, Duration::zero());
  EXPECT_THAT(std::string(told.remedy), HasSubstr("have the quota raised"));
  EXPECT_EQ(told.state, "closed");
  EXPECT_EQ(told.passed_over, std::optional<Duration>(seconds(1)));
  EXPECT_TRUE(keeper_->Describe().pools[1].trouble.why.ok()) << "it is the other one's";
  pools_[0].answer = Status::Ok();
  Come(1);
  Second(8);
  EXPECT_TRUE(keeper_->Describe().pools[0].trouble.stands) << "asked for is not there";
  Come(0);
  told = keeper_->Describe().pools[0];
  EXPECT_FALSE(told.trouble.stands);
  EXPECT_EQ(told.trouble.age, seconds(1)) << "it is told all the same";
  EXPECT_EQ(told.passed_over, std::nullopt);
}

// Its engine has taken them on, and then cannot start them.
TEST_F(PoolsKeeperTest, WhatLetsItsMembersWaitIsATroubleToo) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(2);
  ASSERT_THAT(pools_[0].members, SizeIs(1));
  pools_[0].members[0] = {.state = PoolMember::State::kQueued,
                          .handle = "pod",
                          .note = "ErrImagePull",
                          .why = Detail::kNoImage};
  for (int i = 0; i < 29; ++i) Second(2);
  EXPECT_TRUE(keeper_->Describe().pools[0].trouble.why.ok()) << "most queues are short";
  for (int i = 0; i < 3; ++i) Second(2);
  const PoolReport::Named told = keeper_->Describe().pools[0];
  EXPECT_EQ(told.trouble.why.message(), "ErrImagePull");
  EXPECT_EQ(told.trouble.why.detail(), Detail::kNoImage);
  EXPECT_TRUE(told.trouble.stands);
}

TEST_F(PoolsKeeperTest, ItIsToldForHowLongAPoolIsPassedOver) {
  ASSERT_TRUE(Begin(0, 8).ok());
  Second(6);
  Come(0);
  Notice(0, 1);
  EXPECT_EQ(keeper_->Describe().pools[0].passed_over, std::optional<Duration>(PoolChoice::kHold));
  Second(6);
  EXPECT_EQ(keeper_->Describe().pools[0].passed_over,
            std::optional<Duration>(PoolChoice::kHold - seconds(1)));
  EXPECT_EQ(keeper_->Describe().pools[1].passed_over, std::nullopt);
}

TEST_F(PoolsKeeperTest, WhatIsSaidHasThePoolsName) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(Begin(0, 8).ok());
  pools_[0].answer = ResourceExhausted("the quota is used up");
  Second(2);
  events_[1].on_failed(1, Unavailable("no node is free"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("pool spot: ResourceExhausted: the quota is used up"));
  EXPECT_THAT(said, HasSubstr("pool normal: Unavailable: no node is free"));
}

}  // namespace
}  // namespace headrace::coordinator
