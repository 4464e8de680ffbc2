#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/pool/core/pool.h"

// The contract of every pool of the registry.
namespace headrace::coordinator {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

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
  PoolContract() {
    PoolOptions options;
    options.worker_command = {"sleep", "1000"};
    options.most_members = 3;
    PoolEvents events{.on_ended = [this](WorkerId id, double) { ended_.push_back(id); },
                      .on_failed =
                          [this](std::int32_t count, const Status& why) {
                            EXPECT_GT(count, 0);
                            EXPECT_FALSE(why.ok());
                            failed_ += count;
                          }};
    auto made = Registry().Make(GetParam(), {}, reactor_, options, std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    pool_ = std::move(made).value();
  }

  // Makes a worker that the coordinator has met, started by the pool or by somebody else.
  WorkerId Member() {
    const WorkerId id(next_++);
    wire::WorkerInfo info;
    info.worker = id;
    info.host.pid = 4'000'000 + id.value;
    if (pool_->Grow(1).ok()) info.host.pid = pool_->List().back().pid;
    pool_->Registered(info);
    return id;
  }

  FakeReactor reactor_;
  std::vector<WorkerId> ended_;
  std::int32_t failed_ = 0;
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
  EXPECT_EQ(members[0].state, PoolMember::State::kRunning);
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
  EXPECT_EQ(pool_->List().size() + static_cast<std::size_t>(failed_), taken_on ? 2U : 0U);
}

TEST_P(PoolContract, SettingsThatItDoesNotHaveAreRefused) {
  const auto refused = [&](const GivenSettings& given) {
    return Registry().Make(GetParam(), given, reactor_, {}, {}).status();
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
  EXPECT_EQ(pool_->List().at(0).state, PoolMember::State::kDraining);
}

TEST_P(PoolContract, NeverCallsALivingMemberDead) {
  EXPECT_NE(pool_->Alive(Member()), std::optional<bool>(false));
  EXPECT_EQ(pool_->Alive(WorkerId(77)), std::nullopt);
}

TEST_P(PoolContract, StopEndsEverythingForGood) {
  Member();
  pool_->Stop();
  EXPECT_THAT(pool_->List(), IsEmpty());
  pool_->Stop();
  EXPECT_FALSE(pool_->Grow(1).ok());
  EXPECT_THAT(pool_->List(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Registry, PoolContract, testing::ValuesIn(Registry().Names()),
                         [](const auto& each) { return each.param; });

TEST(PoolRegistry, AnUnknownNameListsTheKnownOnes) {
  FakeReactor reactor;
  const auto made = Registry().Make("cloud", {}, reactor, {}, {});
  EXPECT_EQ(made.status().code(), Code::kNotFound);
  EXPECT_THAT(made.status().message(), testing::HasSubstr("local, static"));
}

}  // namespace
}  // namespace headrace::coordinator
