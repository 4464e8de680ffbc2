#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/pool_bench.h"

// The contract of every pool of the registry.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

PoolRegistry& Registry() {
  static PoolRegistry& registry = *[] {
    auto* made = new PoolRegistry;
    RegisterPools(*made);
    return made;
  }();
  return registry;
}

class PoolContract : public testing::TestWithParam<std::string> {
 protected:
  PoolContract() : bench_(GetParam()) {}
  void SetUp() override { pool_ = bench_.Make(Events()); }

  PoolEvents Events() {
    return {.on_ended = [this](WorkerId id, double) { ended_.push_back(id); },
            .on_failed =
                [this](std::int32_t count, const Status& why) {
                  EXPECT_FALSE(why.ok());
                  failed_ += count;
                  why_ = why;
                }};
  }
  // Makes a worker that the coordinator has met, started by the pool or by somebody else.
  WorkerId Member() {
    const WorkerId id(next_++);
    wire::WorkerInfo info;
    info.worker = id;
    if (pool_->Grow(1).ok()) {
      EXPECT_TRUE(bench_.Until([&] {
        for (const auto& each : bench_.Workers()) {
          if (!processes_.contains(each.member)) info.member = each.member;
        }
        return !info.member.empty();
      }));
      // A worker may be faster than its engine's answer.
      EXPECT_TRUE(bench_.Until([&] {
        return std::ranges::any_of(
            pool_->List(), [&](const PoolMember& member) { return member.handle == info.member; });
      }));
      for (const auto& each : bench_.Workers()) processes_[each.member] = each.pid;
    }
    pool_->Registered(info);
    infos_[id] = info;
    return id;
  }
  [[nodiscard]] pid_t PidOf(WorkerId id) const { return processes_.at(infos_.at(id).member); }
  [[nodiscard]] PoolMember Of(WorkerId id) const {
    for (const PoolMember& member : pool_->List()) {
      if (member.worker == id) return member;
    }
    ADD_FAILURE() << "worker " << id.value << " is no member";
    return {};
  }

  PoolBench bench_;
  std::map<std::string, pid_t> processes_;  // by member
  std::map<WorkerId, wire::WorkerInfo> infos_;
  std::vector<WorkerId> ended_;
  std::int32_t failed_ = 0;
  Status why_;
  std::unique_ptr<Pool> pool_;
  std::int64_t next_ = 1;
};

TEST_P(PoolContract, IsEmptyAtFirstAndHasAName) {
  EXPECT_EQ(pool_->name(), GetParam());
  EXPECT_THAT(pool_->List(), IsEmpty());
}

TEST_P(PoolContract, ListsItsMembersByWorker) {
  const WorkerId first = Member();
  const WorkerId second = Member();
  const auto members = pool_->List();
  ASSERT_THAT(members, SizeIs(2));
  EXPECT_EQ(members[0].worker, first);
  EXPECT_EQ(members[1].worker, second);
  EXPECT_EQ(members[0].state, State::kRunning);
  EXPECT_EQ(members[0].starts, 1);
}

TEST_P(PoolContract, GrowsOrSaysThatItNeverCan) {
  const Status grown = pool_->Grow(1);
  EXPECT_TRUE(grown.ok() || grown.code() == Code::kInfeasible) << grown.ToString();
  const Status too_much = pool_->Grow(100);
  EXPECT_TRUE(too_much.code() == Code::kResourceExhausted || too_much.code() == Code::kInfeasible)
      << too_much.ToString();
  EXPECT_TRUE(pool_->Grow(0).ok());
}

TEST_P(PoolContract, WhatGrowTookOnIsListedOrHasFailed) {
  const bool taken_on = pool_->Grow(2).ok();
  for (int turns = 0; turns < 20; ++turns) {
    EXPECT_EQ(pool_->List().size() + static_cast<std::size_t>(failed_), taken_on ? 2U : 0U);
    if (!bench_.reactor_.RunOneFd(20)) bench_.reactor_.Advance(seconds(1));
  }
}

TEST_P(PoolContract, StartsAtOnceAndEachWorkerKnowsItsName) {
  if (!bench_.starts_workers()) return;
  const SteadyTime begun = bench_.reactor_.clock().Now();
  ASSERT_TRUE(pool_->Grow(3).ok());
  ASSERT_TRUE(bench_.Until([&] { return bench_.Workers().size() == 3; }));
  EXPECT_LE(bench_.reactor_.clock().Now() - begun, seconds(60)) << "but for the time of processes";
  ASSERT_TRUE(bench_.Until([&] {
    return std::ranges::all_of(pool_->List(),
                               [](const auto& each) { return each.state == State::kStarting; });
  }));
  std::vector<std::string> named, listed;
  for (const auto& each : bench_.Workers()) named.push_back(each.member);
  for (const auto& each : pool_->List()) listed.push_back(each.handle);
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(listed));
}

TEST_P(PoolContract, SettingsThatItDoesNotHaveAreRefused) {
  const auto refused = [&](const GivenSettings& given) {
    return Registry().Make(GetParam(), given, bench_.reactor_, {}, {}).status();
  };
  EXPECT_EQ(refused({{"no-such-setting", "1"}}).code(), Code::kInvalidArgument);
  EXPECT_THAT(refused({{"no-such-setting", "1"}}).message(),
              testing::HasSubstr("no setting no-such-setting"));
  for (const PoolDescriptor* pool : Registry().All()) {
    if (pool->name != GetParam()) continue;
    EXPECT_FALSE(pool->summary.empty());
    for (const Setting& setting : pool->settings) {
      EXPECT_FALSE(setting.help.empty()) << setting.name;
      if (setting.kind != Setting::Kind::kCount) continue;
      for (const char* value : {"-1", "many", "", "1.5", "99999999999999999999"}) {
        EXPECT_EQ(refused({{setting.name, value}}).code(), Code::kInvalidArgument)
            << setting.name << "=" << value;
      }
    }
  }
}

TEST_P(PoolContract, DrainMarksOnlyMembersAndMayBeRepeated) {
  const WorkerId id = Member();
  EXPECT_EQ(pool_->Drain(WorkerId(77)).code(), Code::kNotFound);
  EXPECT_EQ(pool_->Drain(WorkerId()).code(), Code::kNotFound);
  EXPECT_TRUE(pool_->Drain(id).ok());
  EXPECT_TRUE(pool_->Drain(id).ok());
  EXPECT_EQ(pool_->List().at(0).state, State::kDraining);
}

// The coordinator tells the worker; the pool does nothing to it, and does not replace it.
TEST_P(PoolContract, ADrainedMemberGoesWhenItLikesAndNobodyComesInItsPlace) {
  if (!bench_.starts_workers()) return;
  const WorkerId id = Member();
  ASSERT_TRUE(pool_->Drain(id).ok());
  bench_.reactor_.Advance(seconds(30));
  EXPECT_TRUE(PoolBench::Runs(PidOf(id)));
  ::kill(PidOf(id), SIGTERM);
  EXPECT_TRUE(bench_.Until([&] { return pool_->List().empty(); }));
  EXPECT_THAT(ended_, ElementsAre(id));
  EXPECT_EQ(failed_, 0) << why_.ToString();
}

TEST_P(PoolContract, NeverCallsALivingMemberDead) {
  EXPECT_NE(pool_->Alive(Member()), std::optional<bool>(false));
  EXPECT_EQ(pool_->Alive(WorkerId(77)), std::nullopt);
}

TEST_P(PoolContract, AKilledMemberIsToldOnceAndStartedAgainOrListedNoMore) {
  if (!bench_.starts_workers()) return;
  const WorkerId killed = Member(), other = Member();
  const std::string handle = Of(killed).handle;
  ::kill(PidOf(killed), SIGKILL);
  ASSERT_TRUE(bench_.Until([&] { return !ended_.empty(); }));
  bench_.reactor_.Advance(seconds(1));
  EXPECT_THAT(ended_, ElementsAre(killed));
  EXPECT_EQ(Of(other).state, State::kRunning);
  if (!bench_.restarts_workers()) {
    EXPECT_THAT(pool_->List(), SizeIs(1));
    return;
  }
  ASSERT_TRUE(bench_.Until([&] { return bench_.Workers().size() == 2; }));
  ASSERT_THAT(pool_->List(), SizeIs(2));
  EXPECT_EQ(pool_->List()[0].state, State::kStarting);
  EXPECT_NE(pool_->List()[0].handle, handle) << "another start is another worker";
  EXPECT_EQ(pool_->List()[0].starts, 2);
}

// Pre-emption, a walltime that ends, a host that goes down: the worker gets SIGTERM and leaves.
TEST_P(PoolContract, AMemberThatLeavesByANoticeIsReplacedOrListedNoMore) {
  if (!bench_.starts_workers()) return;
  const WorkerId id = Member();
  pool_->Leaving(id);
  if (!bench_.restarts_workers()) {
    EXPECT_EQ(Of(id).state, State::kDraining) << "so the coordinator asks for another now";
  }
  ::kill(PidOf(id), SIGTERM);
  ASSERT_TRUE(bench_.Until([&] { return !ended_.empty(); }));
  EXPECT_THAT(ended_, ElementsAre(id));
  EXPECT_THAT(pool_->List(), SizeIs(bench_.restarts_workers() ? 1 : 0));
  EXPECT_EQ(failed_, 0) << why_.ToString();
}

// The worker's host is silent. The engine may take minutes to say so, or never does.
TEST_P(PoolContract, ASilentMemberElsewhereMayBeReplacedAndMayComeBack) {
  const WorkerId id = Member();
  pool_->Lost(id);
  EXPECT_EQ(Of(id).state, bench_.elsewhere() ? State::kLost : State::kRunning);
  pool_->Registered(infos_.at(id));
  EXPECT_EQ(Of(id).state, State::kRunning);
  pool_->Lost(WorkerId(77));
  EXPECT_THAT(pool_->List(), SizeIs(1));
}

TEST_P(PoolContract, WhatIsKilledEndsInOrderOrWithoutAndIsNotReplaced) {
  EXPECT_EQ(pool_->Kill("nobody", seconds(1)).code(), Code::kNotFound);
  EXPECT_EQ(pool_->Kill("", seconds(1)).code(), Code::kNotFound);
  if (!bench_.starts_workers()) return;
  const WorkerId obeys = Member();
  pool_->Stop();
  EXPECT_TRUE(bench_.Until([&] { return !PoolBench::Runs(PidOf(obeys)); }));
  pool_ = bench_.Make(Events(), 2, "headrace-stubborn", "trap '' TERM; while :; do sleep 1; done");
  const WorkerId ignores = Member();
  ended_.clear();
  ASSERT_TRUE(pool_->Kill(Of(ignores).handle, seconds(5)).ok());
  EXPECT_EQ(Of(ignores).state, State::kDraining);
  EXPECT_TRUE(PoolBench::Runs(PidOf(ignores)));
  ASSERT_TRUE(bench_.Until([&] { return pool_->List().empty(); }));
  EXPECT_FALSE(PoolBench::Runs(PidOf(ignores)));
  EXPECT_THAT(ended_, ElementsAre(ignores));
  EXPECT_EQ(failed_, 0) << why_.ToString();
}

TEST_P(PoolContract, StopEndsEverythingForGood) {
  Member();
  pool_->Stop();
  EXPECT_THAT(pool_->List(), IsEmpty());
  EXPECT_TRUE(bench_.Until([&] { return bench_.Workers().empty(); }))
      << "an engine may take a moment";
  pool_->Stop();
  EXPECT_FALSE(pool_->Grow(1).ok());
  EXPECT_THAT(pool_->List(), IsEmpty());
}

// The coordinator is killed, and another one has its address.
TEST_P(PoolContract, ACoordinatorAfterThisOneAdoptsWhatLivesOn) {
  if (!bench_.starts_workers()) return;
  bench_.KeepAtStop(true);
  pool_ = bench_.Make(Events(), 2);
  const WorkerId worker = Member(), drained = Member();
  const std::string handle = Of(worker).handle;
  pool_.reset();
  if (!bench_.elsewhere()) {
    EXPECT_THAT(bench_.Workers(), IsEmpty()) << "they end with their coordinator";
    return;
  }
  EXPECT_THAT(bench_.Workers(), SizeIs(2));
  const auto strangers = bench_.Make(Events(), 3, "headrace-another");
  strangers->Registered(infos_.at(worker));
  EXPECT_THAT(strangers->List(), IsEmpty()) << "a pool of another address has none of them";

  bench_.KeepAtStop(false);
  pool_ = bench_.Make(Events(), 3);
  pool_->Registered(infos_.at(worker));  // by the journal, or when it registers again
  pool_->Registered(infos_.at(drained));
  ASSERT_TRUE(pool_->Drain(drained).ok());
  ASSERT_THAT(pool_->List(), SizeIs(2));
  EXPECT_EQ(Of(worker).state, State::kRunning);
  EXPECT_EQ(Of(worker).handle, handle);
  EXPECT_EQ(Of(drained).state, State::kDraining);
  ASSERT_TRUE(pool_->Grow(1).ok()) << "there is room for one more";
  EXPECT_EQ(pool_->Grow(1).code(), Code::kResourceExhausted);
  pool_->Left(worker);
  ::kill(PidOf(worker), SIGKILL);
  EXPECT_TRUE(bench_.Until([&] { return pool_->List().size() == 2; }));
}

TEST_P(PoolContract, AnEngineThatForbidsIsAnErrorAndNothingIsListed) {
  bench_.Refuse();
  pool_ = bench_.Make(Events(), 2);
  const Status grown = pool_->Grow(2);
  if (grown.ok()) {
    ASSERT_TRUE(bench_.Until([&] { return failed_ == 2; }));
    EXPECT_THAT(why_.message(), testing::HasSubstr(bench_.refusal()));
    EXPECT_EQ(why_.detail(), bench_.refusal_kind());
  } else {
    EXPECT_EQ(grown.detail(), bench_.refusal_kind());
    EXPECT_TRUE(grown.code() == Code::kNotFound || grown.code() == Code::kInfeasible);
  }
  EXPECT_THAT(pool_->List(), IsEmpty());
}

TEST_P(PoolContract, AQuotaThatIsUsedUpIsAnErrorAndWhatFitsComes) {
  if (!bench_.starts_workers()) return;
  bench_.Limit(1);
  Status grown = pool_->Grow(3);
  ASSERT_TRUE(grown.ok());
  if (bench_.queues_without_room()) {
    const auto waiting = [&] {
      std::vector<std::string> handles;
      for (const PoolMember& member : pool_->List()) {
        const bool waits = member.state == State::kQueued && member.why == Detail::kNoRoom;
        if (waits) handles.push_back(member.handle);
      }
      return handles;
    };
    ASSERT_TRUE(
        bench_.Until([&] { return waiting().size() == 2 && bench_.Workers().size() == 1; }));
    for (const std::string& handle : waiting()) EXPECT_TRUE(pool_->Kill(handle, seconds(60)).ok());
    EXPECT_TRUE(bench_.Until([&] { return pool_->List().size() == 1; }));
    EXPECT_EQ(failed_, 0) << why_.ToString();
    return;
  }
  if (bench_.answers_later()) {
    ASSERT_TRUE(bench_.Until([&] { return failed_ == 2 && bench_.Workers().size() == 1; }));
    grown = why_;
    EXPECT_EQ(why_.detail(), Detail::kQuota);
  } else {
    grown = pool_->Grow(1);
  }
  EXPECT_EQ(grown.code(), Code::kResourceExhausted);
  EXPECT_EQ(pool_->List().size() + static_cast<std::size_t>(failed_), 3U);
}

// Of one engine's options others know nothing.
TEST_P(PoolContract, ARemedyIsASentenceThatNamesOptionsOfThisEngineAlone) {
  for (int kind = 0; kind <= static_cast<int>(Detail::kWorkersFail); ++kind) {
    const std::string said(pool_->Remedy(static_cast<Detail>(kind)));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr(". "))) << "one sentence";
    for (const std::string& other : Registry().Names()) {
      if (other == GetParam()) continue;
      EXPECT_THAT(said, testing::Not(testing::HasSubstr("--" + other + "-")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, PoolContract, testing::ValuesIn(Registry().Names()),
                         [](const auto& each) { return each.param; });

TEST(PoolRegistry, AnUnknownNameListsTheKnownOnes) {
  FakeReactor reactor;
  const auto made = Registry().Make("cloud", {}, reactor, {}, {});
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_THAT(made.status().message(),
              testing::HasSubstr("exec, kubernetes, local, ray, slurm, static"));
}

TEST(PoolName, IsAWordOfTheAddressThatWorkersHave) {
  EXPECT_EQ(PoolName("tcp://head.site:7070"), "headrace-head.site-7070");
  EXPECT_EQ(PoolName("tcp://[fe80::1]:7070"), "headrace--fe80--1--7070");
  EXPECT_EQ(PoolName("ipc:///tmp/x y/control"), "headrace--tmp-x-y-control");
}

}  // namespace
}  // namespace headrace::coordinator
