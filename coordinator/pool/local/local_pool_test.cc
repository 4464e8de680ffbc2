#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/pool/core/pool.h"

namespace headrace::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LocalPoolTest : public testing::Test {
 protected:
  std::unique_ptr<Pool> Make(std::vector<std::string> command) {
    PoolRegistry registry;
    RegisterPools(registry);
    PoolOptions options;
    options.worker_command = std::move(command);
    PoolEvents events{.on_ended =
                          [this](WorkerId worker, double cpu_seconds) {
                            ended_.push_back(worker);
                            cpu_seconds_ += cpu_seconds;
                          },
                      .on_failed = {}};
    auto made = registry.Make("local", {}, reactor_, options, std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  // The worker that the first member has become.
  static wire::WorkerInfo Info(std::int64_t id, const Pool& pool) {
    wire::WorkerInfo info;
    info.worker = WorkerId(id);
    info.member = pool.List().at(0).handle;
    return info;
  }

  FakeReactor reactor_;
  std::vector<WorkerId> ended_;
  double cpu_seconds_ = 0;
};

TEST_F(LocalPoolTest, AKilledWorkerIsReportedWithItsCpuAndStartedAgainAfterAPause) {
  auto pool =
      Make({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(1).ok());
  const std::int64_t pid = pool->List().at(0).pid;
  pool->Registered(Info(5, *pool));
  EXPECT_EQ(pool->Alive(WorkerId(5)), true);
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  ASSERT_TRUE(reactor_.RunOneFd());
  EXPECT_THAT(ended_, ElementsAre(WorkerId(5)));
  EXPECT_GT(cpu_seconds_, 0);
  EXPECT_EQ(pool->Alive(WorkerId(5)), false);
  EXPECT_EQ(pool->List().at(0).state, PoolMember::State::kWaiting);
  reactor_.Advance(milliseconds(99));
  EXPECT_EQ(pool->List().at(0).starts, 1) << "the first pause is at least 100 ms";
  reactor_.Advance(milliseconds(52));
  EXPECT_EQ(pool->List().at(0).starts, 2) << "and at most 150 ms";
  EXPECT_NE(pool->List().at(0).pid, pid);
  EXPECT_EQ(pool->Alive(WorkerId(5)), std::nullopt) << "the new process is another worker";
}

TEST_F(LocalPoolTest, AWorkerOfAnotherHostWithTheSameProcessIdIsNoMember) {
  auto pool = Make({"sh", "-c", "exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(1).ok());
  wire::WorkerInfo info;
  info.worker = WorkerId(5);
  info.host.pid = pool->List().at(0).pid;
  pool->Registered(info);
  EXPECT_EQ(pool->List().at(0).state, PoolMember::State::kStarting);
}

TEST_F(LocalPoolTest, AWorkerThatWasForgottenAndComesAgainIsTheSameMember) {
  auto pool = Make({"sh", "-c", "exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(1).ok());
  pool->Registered(Info(5, *pool));
  pool->Registered(Info(6, *pool));
  EXPECT_EQ(pool->List().at(0).worker, WorkerId(5)) << "a name has one worker";
  pool->Left(WorkerId(5));
  pool->Registered(Info(6, *pool));
  EXPECT_EQ(pool->List().at(0).worker, WorkerId(6));
}

TEST_F(LocalPoolTest, PausesDoubleUpToTheCap) {
  auto pool = Make({"false"});
  ASSERT_TRUE(pool->Grow(1).ok());
  std::vector<std::int64_t> pauses_ms;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(reactor_.RunOneFd());
    const int starts = pool->List().at(0).starts;
    std::int64_t waited = 0;
    for (; pool->List().at(0).starts == starts; ++waited) reactor_.Advance(milliseconds(1));
    pauses_ms.push_back(waited);
  }
  for (std::size_t i = 0; i < pauses_ms.size(); ++i) {
    // 100 ms doubling to 10 s, and up to half as much again.
    const std::int64_t pause = std::min<std::int64_t>(100LL << i, 10'000);
    EXPECT_GE(pauses_ms[i], pause) << i;
    EXPECT_LE(pauses_ms[i], pause * 3 / 2 + 1) << i;
  }
  EXPECT_THAT(ended_, testing::IsEmpty()) << "it never registered: nobody to report";
}

TEST_F(LocalPoolTest, AWorkerThatEndsAgainAndAgainIsATroubleAndSaysHow) {
  auto pool = Make({"false"});
  ASSERT_TRUE(pool->Grow(1).ok());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(reactor_.RunOneFd());
    const PoolMember member = pool->List().at(0);
    ASSERT_EQ(member.state, PoolMember::State::kWaiting);
    EXPECT_THAT(member.note, testing::StartsWith("it ended: "));
    EXPECT_EQ(member.why, i < 3 ? Detail::kNone : Detail::kWorkersFail) << "once may happen";
    reactor_.Advance(seconds(1));
    EXPECT_EQ(pool->List().at(0).note, "") << "it runs again";
    EXPECT_EQ(pool->List().at(0).why, Detail::kNone);
  }
}

TEST_F(LocalPoolTest, ALongRunStartsThePausesAnew) {
  auto pool = Make({"sh", "-c", "exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(1).ok());
  for (int i = 0; i < 3; ++i) {
    reactor_.Advance(seconds(31));
    ::kill(static_cast<pid_t>(pool->List().at(0).pid), SIGKILL);
    ASSERT_TRUE(reactor_.RunOneFd());
    reactor_.Advance(milliseconds(151));
    EXPECT_EQ(pool->List().at(0).starts, i + 2);
  }
}

TEST_F(LocalPoolTest, ADrainedWorkerIsNotReplaced) {
  auto pool = Make({"sh", "-c", "exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(2).ok());
  const std::int64_t pid = pool->List().at(0).pid;
  pool->Registered(Info(1, *pool));
  ASSERT_TRUE(pool->Drain(WorkerId(1)).ok());
  ::kill(static_cast<pid_t>(pid), SIGTERM);
  ASSERT_TRUE(reactor_.RunOneFd());
  EXPECT_THAT(ended_, ElementsAre(WorkerId(1)));
  EXPECT_THAT(pool->List(), SizeIs(1));
  EXPECT_EQ(reactor_.timers(), 0U);
}

TEST_F(LocalPoolTest, AProgramThatIsNotThereIsAnError) {
  auto pool = Make({"/no/such/headrace", "worker"});
  const Status grown = pool->Grow(1);
  EXPECT_EQ(grown.code(), Code::kNotFound);
  EXPECT_THAT(grown.message(), HasSubstr("/no/such/headrace"));
  EXPECT_THAT(pool->List(), SizeIs(0));
}

TEST_F(LocalPoolTest, StopEndsAWorkerThatIgnoresBeingAsked) {
  PoolRegistry registry;
  RegisterPools(registry);
  PoolOptions options;
  options.worker_command = {"sh", "-c", "trap '' TERM; exec sleep 1000"};
  auto pool = registry.Make("local", {{"stop-grace-ms", "50"}}, reactor_, options, {});
  ASSERT_TRUE(pool.ok());
  ASSERT_TRUE((*pool)->Grow(1).ok());
  const auto pid = static_cast<pid_t>((*pool)->List().at(0).pid);
  (*pool)->Stop();
  EXPECT_NE(::kill(pid, 0), 0) << "gone and reaped";
  EXPECT_EQ(reactor_.watched(), 0U);
}

TEST_F(LocalPoolTest, AWorkerThatIsDrainedWhileItWaitsForItsNextStartIsNotReplaced) {
  auto pool = Make({"sh", "-c", "exec sleep 1000"});
  ASSERT_TRUE(pool->Grow(1).ok());
  const std::int64_t pid = pool->List().at(0).pid;
  pool->Registered(Info(1, *pool));
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  ASSERT_TRUE(reactor_.RunOneFd());
  ASSERT_EQ(pool->List().at(0).state, PoolMember::State::kWaiting);
  ASSERT_TRUE(pool->Drain(WorkerId(1)).ok());
  reactor_.Advance(seconds(60));
  EXPECT_THAT(pool->List(), SizeIs(0));
  EXPECT_EQ(reactor_.timers(), 0U);
}

// A program that ignores SIGCHLD passes this on to its children: nobody can be reaped then.
TEST_F(LocalPoolTest, TheEndOfAWorkerIsSeenWhereChildrenAreNotReaped) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  auto pool = Make(
      {"sh", "-c", "exec sleep 0.2"});  // one that ends before it is watched could not be started
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(reactor_.RunOneFd());
  EXPECT_EQ(pool->List().at(0).state, PoolMember::State::kWaiting);
  EXPECT_EQ(reactor_.watched(), 0U);
  ::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace headrace::coordinator
