#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/pool_bench.h"

// What a Ray pool has beyond the contract. Its helper is played; tests/integration has the real one.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

class RayPoolTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Pool>> Make(GivenSettings given) {
    given.insert(given.begin(), {"python", ray().python()});
    PoolRegistry registry;
    RegisterPools(registry);
    PoolOptions options;
    options.worker_command = {"sh", "-c", "exec sleep 1000", "worker"};
    options.name = "headrace-test";
    options.epoch = 1700;
    PoolEvents events{
        .on_ended = [this](WorkerId, double cpu_seconds) { cpu_seconds_ += cpu_seconds; },
        .on_failed = [this](std::int32_t count,
                            const Status& why) { failures_.emplace_back(count, why.message()); }};
    return registry.Make("ray", given, bench_.reactor_, options, std::move(events));
  }
  std::unique_ptr<Pool> MakeReady(const GivenSettings& given = {}) {
    auto made = Make(given);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    std::unique_ptr<Pool> pool = std::move(made).value();
    EXPECT_TRUE(bench_.Until([&] { return pool->ready(); }));
    return pool;
  }
  // So many run.
  [[nodiscard]] bool Running(const Pool& pool, std::size_t count) {
    return bench_.Until([&] {
      std::size_t running = 0;
      for (const PoolMember& member : pool.List()) running += member.state == State::kStarting;
      return running == count;
    });
  }
  FakeRay& ray() { return *bench_.ray_; }

  PoolBench bench_{"ray"};
  std::vector<std::pair<std::int32_t, std::string>> failures_;
  double cpu_seconds_ = 0;
};

TEST_F(RayPoolTest, NoClusterIsSaidClearlyAndIsLookedForAgain) {
  ray().Behave("down");
  auto pool = std::move(Make({})).value();
  ASSERT_TRUE(bench_.Until([&] { return failures_.size() == 3; }));
  for (const auto& [count, why] : failures_) {
    EXPECT_EQ(count, 0);
    EXPECT_THAT(why, HasSubstr("no Ray cluster at auto"));
  }
  EXPECT_EQ(pool->Grow(1).code(), Code::kUnavailable);
  ray().Behave("run");
  EXPECT_TRUE(bench_.Until([&] { return pool->ready(); }));
  EXPECT_TRUE(pool->Grow(1).ok());
  EXPECT_TRUE(Running(*pool, 1));
}

TEST_F(RayPoolTest, NoInterpreterIsSaidClearly) {
  auto pool = std::move(Make({{"python", "/no/such/python"}})).value();
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_THAT(failures_[0].second, HasSubstr("--ray-python"));
}

TEST_F(RayPoolTest, TheHelperIsToldWhatWorkersAreToHave) {
  auto pool = MakeReady({{"cores", "2"},
                         {"memory", "1G"},
                         {"cache", "256M"},
                         {"resources", "spot=1"},
                         {"labels", "zone=a"},
                         {"export", "MY_DATA,MY_OTHER"},
                         {"program", "/opt/headrace"}});
  ASSERT_THAT(ray().Settings(), SizeIs(1));
  const auto told = nlohmann::json::parse(ray().Settings()[0]);
  EXPECT_EQ(told["cores"], 2);
  EXPECT_EQ(told["memory"], 1 << 30);
  EXPECT_EQ(told["resources"]["spot"], 1);
  EXPECT_EQ(told["labels"]["zone"], "a");
  EXPECT_THAT(told["export"], ElementsAre("MY_DATA", "MY_OTHER"));
  EXPECT_EQ(told["pool"], "headrace-test");
  EXPECT_THAT(told["command"], ElementsAre("/opt/headrace", "-c", "exec sleep 1000", "worker",
                                           "--threads", "2", "--cache", "268435456"));
  EXPECT_EQ(pool->member_cores(), 2);
}

TEST_F(RayPoolTest, AHelperThatIsKilledForgetsNobody) {
  auto pool = MakeReady();
  ray().Behave("limit 1");
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(Running(*pool, 1));
  ray().EndHelpers();
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_EQ(failures_[0].first, 0) << "nobody is gone for that";
  EXPECT_THAT(pool->List(), SizeIs(2));
  ray().Behave("run");
  ASSERT_TRUE(Running(*pool, 2));
  EXPECT_THAT(ray().Settings(), SizeIs(2)) << "two helpers";
  EXPECT_THAT(ray().Actors(), ElementsAre("headrace-test.1700.1", "headrace-test.1700.2"));
}

TEST_F(RayPoolTest, AMemberThatWaitsSaysWhyAndIsTakenBack) {
  auto pool = MakeReady();
  ray().Behave("queue");
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return !pool->List()[0].note.empty(); }));
  EXPECT_THAT(pool->List()[0].note, HasSubstr("Ray has no room"));
  ASSERT_TRUE(pool->Kill(pool->List()[0].handle, seconds(60)).ok());
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  EXPECT_THAT(ray().Actors(), IsEmpty()) << "Ray's autoscaler sees no demand any more";
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(RayPoolTest, AMemberWhoseNodeIsTakenAwayIsDraining) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Running(*pool, 1));
  ray().Drain(pool->List()[0].handle);
  ASSERT_TRUE(bench_.Until([&] { return pool->List()[0].state == State::kDraining; }));
  EXPECT_EQ(pool->List()[0].note, "its node is drained");
}

TEST_F(RayPoolTest, TheLastWordsAndTheCpuTimeOfAWorkerAreTold) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Running(*pool, 1));
  wire::WorkerInfo info;
  info.worker = WorkerId(7);
  info.member = pool->List()[0].handle;
  pool->Registered(info);
  ::kill(ray().PidOf(info.member), SIGKILL);
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_THAT(failures_[0].second, testing::AllOf(HasSubstr("no key"), HasSubstr("on n1")));
  EXPECT_EQ(cpu_seconds_, 0.5);
}

TEST_F(RayPoolTest, SettingsThatCannotBeAreRefused) {
  const auto refused = [&](const GivenSettings& given) { return Make(given).status().message(); };
  EXPECT_THAT(refused({{"at-stop", "perhaps"}}), HasSubstr("--ray-at-stop"));
  EXPECT_THAT(refused({{"cache", "4G"}, {"memory", "2G"}}), HasSubstr("--ray-cache"));
  EXPECT_THAT(refused({{"resources", "spot"}}), HasSubstr("--ray-resources"));
  EXPECT_THAT(refused({{"labels", "zone"}}), HasSubstr("--ray-labels"));
}

}  // namespace
}  // namespace headrace::coordinator
