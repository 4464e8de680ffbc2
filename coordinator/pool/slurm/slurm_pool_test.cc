#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/pool_bench.h"

// What a Slurm pool has beyond the contract. Its commands are scripts; tests/python has the real ones.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

class SlurmPoolTest : public testing::Test {
 protected:
  std::unique_ptr<Pool> Make(GivenSettings given = {}) {
    given.insert(given.begin(), {{"commands", slurm().folder()}, {"poll-s", "1"}});
    PoolRegistry registry;
    RegisterPools(registry);
    PoolOptions options;
    options.worker_command = {"sh", "-c", "exec sleep 1000", "worker"};
    options.name = "headrace-test";
    options.epoch = 1700;
    PoolEvents events{.on_ended = {}, .on_failed = [this](std::int32_t count, const Status& why) {
                        failures_.emplace_back(count, why);
                      }};
    auto made = registry.Make("slurm", given, bench_.reactor_, options, std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  std::unique_ptr<Pool> MakeReady(const GivenSettings& given = {}) {
    auto pool = Make(given);
    EXPECT_TRUE(bench_.Until([&] { return pool->ready(); }));
    return pool;
  }
  [[nodiscard]] bool Running(const Pool& pool, std::size_t count) {
    return bench_.Until([&] { return slurm().Jobs().size() == count && Handles(pool) == count; });
  }
  static std::size_t Handles(const Pool& pool) {
    std::size_t count = 0;
    for (const PoolMember& member : pool.List()) count += member.handle.empty() ? 0 : 1;
    return count;
  }
  FakeSlurm& slurm() { return bench_.slurm_; }

  PoolBench bench_{"slurm"};
  std::vector<std::pair<std::int32_t, Status>> failures_;
};

TEST_F(SlurmPoolTest, OneCommandServesManyMembersAndNoneRunsWithoutNeed) {
  auto pool = MakeReady();
  EXPECT_THAT(slurm().Calls("squeue"), SizeIs(1));
  for (int i = 0; i < 60; ++i) bench_.reactor_.Advance(seconds(1));
  EXPECT_THAT(slurm().Calls("squeue"), SizeIs(1)) << "there is nobody to ask for";
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(pool->Grow(3).ok());
  ASSERT_TRUE(Running(*pool, 5));
  EXPECT_THAT(slurm().Calls("sbatch"), ElementsAre(HasSubstr("--array=0-4")));
  for (const PoolMember& member : pool->List()) {
    ASSERT_TRUE(pool->Kill(member.handle, seconds(0)).ok());
  }
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  EXPECT_THAT(slurm().Calls("scancel"), ElementsAre("1_0 1_1 1_2 1_3 1_4"));
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(SlurmPoolTest, ACommandThatHangsStopsNobodyAndIsKilled) {
  auto pool = MakeReady({{"command-timeout-s", "10"}});
  slurm().Behave("hang");
  ASSERT_TRUE(pool->Grow(2).ok());
  const auto begun = std::chrono::steady_clock::now();
  bench_.reactor_.Advance(seconds(1));
  ASSERT_TRUE(bench_.Until([&] { return !slurm().Calls("sbatch").empty(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(15)) << "sbatch takes 1000 s";
  EXPECT_THAT(failures_, IsEmpty());
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_EQ(failures_[0].first, 2);
  EXPECT_THAT(failures_[0].second.message(), HasSubstr("sbatch did not answer"));
  EXPECT_THAT(pool->List(), IsEmpty());
}

TEST_F(SlurmPoolTest, JobsOfAnSbatchThatNeverAnsweredAreFound) {
  auto pool = MakeReady({{"command-timeout-s", "10"}});
  slurm().Behave("mute");
  ASSERT_TRUE(pool->Grow(2).ok());
  bench_.reactor_.Advance(seconds(0));
  ASSERT_TRUE(bench_.Until([&] { return slurm().Jobs().size() == 2; }));
  ASSERT_TRUE(bench_.Until([&] { return Handles(*pool) == 2; }));
  bench_.reactor_.Advance(seconds(11));  // sbatch is killed
  ASSERT_TRUE(bench_.Until([&] { return pool->List().size() == 2; }));
  for (const auto& [count, why] : failures_) EXPECT_EQ(count, 0) << why.ToString();
  EXPECT_THAT(slurm().Calls("sbatch"), SizeIs(1));
}

TEST_F(SlurmPoolTest, AQueuedMemberTellsSlurmsReason) {
  auto pool = MakeReady();
  slurm().Behave("queue");
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return pool->List()[0].note == "AssocGrpCpuLimit"; }));
  EXPECT_EQ(pool->List()[0].state, State::kQueued);
}

TEST_F(SlurmPoolTest, AnEngineThatIsDownIsToldAndForgetsNobody) {
  slurm().Behave("down");
  auto pool = Make();
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_EQ(failures_[0].first, 0);
  EXPECT_THAT(failures_[0].second.message(), HasSubstr("Unable to contact slurm controller"));
  EXPECT_FALSE(pool->ready());
  EXPECT_EQ(pool->Grow(1).code(), Code::kUnavailable);
  slurm().Behave("run");
  ASSERT_TRUE(bench_.Until([&] { return pool->ready(); }));
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Running(*pool, 1));
  slurm().Behave("down");
  failures_.clear();
  ASSERT_TRUE(bench_.Until([&] { return failures_.size() >= 2; }));
  EXPECT_THAT(pool->List(), SizeIs(1));
}

TEST_F(SlurmPoolTest, ANodeThatFailsIsToldWithItsReason) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Running(*pool, 1));
  slurm().SetState("1_0", "NODE_FAIL", "None");
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  ASSERT_THAT(failures_, SizeIs(1));
  EXPECT_THAT(failures_[0].second.message(), HasSubstr("NODE_FAIL"));
}

TEST_F(SlurmPoolTest, WorkersGetTheEnvironmentThatIsAskedFor) {
  ::setenv("SLURM_JOB_ID", "77", 1);
  ::setenv("MY_DATA", "/data", 1);
  ::setenv("MY_SECRET", "x", 1);
  auto pool = MakeReady({{"export", "MY_DATA"}});
  ::unsetenv("SLURM_JOB_ID");
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Running(*pool, 1));
  const std::string variables = slurm().Read("environment.1");
  EXPECT_THAT(variables, HasSubstr("MY_DATA=/data"));
  EXPECT_THAT(variables, testing::Not(HasSubstr("MY_SECRET")));
  EXPECT_THAT(variables, testing::Not(HasSubstr("SLURM_JOB_ID")));
}

TEST_F(SlurmPoolTest, SettingsThatCannotBeAreRefused) {
  PoolRegistry registry;
  RegisterPools(registry);
  PoolOptions options;
  options.worker_command = {"worker"};
  const auto refused = [&](const GivenSettings& given) {
    return registry.Make("slurm", given, bench_.reactor_, options, {}).status().message();
  };
  EXPECT_THAT(refused({{"at-stop", "perhaps"}}), HasSubstr("--slurm-at-stop"));
  EXPECT_THAT(refused({{"cache", "4G"}, {"memory", "2G"}}), HasSubstr("--slurm-cache"));
  EXPECT_THAT(refused({{"submit", "--comment='x"}}), HasSubstr("without its end"));
}

}  // namespace
}  // namespace headrace::coordinator
