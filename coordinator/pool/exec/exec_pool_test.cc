#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/pool_bench.h"

// What an exec pool has beyond the contract.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

class ExecPoolTest : public testing::Test {
 protected:
  ExecPoolTest() { RegisterPools(registry_); }
  Result<std::unique_ptr<Pool>> Make(const GivenSettings& given) {
    PoolOptions options;
    options.worker_command = {"/opt/headrace", "worker", "--coordinator", "tcp://head:7070"};
    options.name = "headrace-head-7070";
    options.epoch = 1700;
    return registry_.Make("exec", given, bench_.reactor_, options, {});
  }

  PoolBench bench_{"exec"};
  PoolRegistry registry_;
  const std::string file_ = bench_.slurm_.folder() + "/said";  // a folder that goes with the test
};

TEST_F(ExecPoolTest, TheCommandGetsTheWorkersArguments) {
  auto pool = Make({{"command", "sh -c 'echo \"$@\" > " + file_ +
                                    "; exec sleep 1000' shell {program} {cores} {args}"},
                    {"cores", "4"},
                    {"cache", "1M"}});
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ((*pool)->member_cores(), 4);
  ASSERT_TRUE((*pool)->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return !bench_.slurm_.Read("said").empty(); }));
  EXPECT_EQ(bench_.slurm_.Read("said"),
            "/opt/headrace 4 worker --coordinator tcp://head:7070 --threads 4 --cache 1048576 "
            "--pool-member headrace-head-7070.1700.0.1\n");
}

// The command is not the worker (podman, ssh): what ends its worker is the user's word.
TEST_F(ExecPoolTest, TheStopCommandEndsAMemberAlsoAnAdoptedOne) {
  auto pool = Make({{"command", "sh -c 'trap \"\" TERM; while :; do sleep 1; done' {args}"},
                    {"stop", "sh -c 'echo {member} >> " + file_ + "'"},
                    {"stop-grace-ms", "100"}});
  ASSERT_TRUE(pool.ok());
  ASSERT_TRUE((*pool)->Grow(1).ok());
  const PoolMember member = (*pool)->List().at(0);
  wire::WorkerInfo info;
  info.worker = WorkerId(7);
  info.member = "headrace-head-7070.1600.3.1";
  (*pool)->Registered(info);
  ASSERT_THAT((*pool)->List(), SizeIs(2));
  ASSERT_TRUE((*pool)->Kill(member.handle, seconds(1)).ok());
  ASSERT_TRUE((*pool)->Kill(info.member, seconds(1)).ok());
  ASSERT_TRUE(bench_.Until([&] { return (*pool)->List().size() == 1; }));
  EXPECT_FALSE(PoolBench::Runs(static_cast<pid_t>(member.pid)));
  (*pool)->Left(WorkerId(7));
  EXPECT_THAT((*pool)->List(), SizeIs(0));
  ASSERT_TRUE(bench_.Until([&] {
    const std::string said = bench_.slurm_.Read("said");
    return said.find(member.handle) != std::string::npos &&
           said.find(info.member) != std::string::npos;
  }));
}

TEST_F(ExecPoolTest, AnAdoptedMemberThatNobodyCanEndIsSaid) {
  auto pool = Make({{"command", "sleep {args}"}});
  ASSERT_TRUE(pool.ok());
  wire::WorkerInfo info;
  info.worker = WorkerId(7);
  info.member = "headrace-head-7070.1600.3.1";
  (*pool)->Registered(info);
  EXPECT_EQ((*pool)->Kill(info.member, seconds(1)).code(), Code::kUnavailable);
}

// A worker may say anything, and its name would come into the stop command.
TEST_F(ExecPoolTest, ANameThatThePoolCouldNotHaveGivenIsNotAdopted) {
  auto pool = Make({{"command", "sleep {args}"}});
  ASSERT_TRUE(pool.ok());
  for (const char* name : {"headrace-head-7070.1600.3.1;reboot", "headrace-head-7070.$(id).3.1",
                           "headrace-head-7070.1600.3", "headrace-head-7070", "", "-rf",
                           "headrace-head-70701600.3.1", "headrace-other.1600.3.1"}) {
    wire::WorkerInfo info;
    info.worker = WorkerId(7);
    info.member = name;
    (*pool)->Registered(info);
    EXPECT_THAT((*pool)->List(), SizeIs(0)) << name;
  }
}

// A shell that starts the worker and waits for it would leave it behind.
TEST_F(ExecPoolTest, ASignalReachesAllProcessesOfTheCommand) {
  auto pool = Make(
      {{"command", "sh -c 'sleep 1000 > /dev/null 2>&1 & echo $! > " + file_ + "; wait' {args}"}});
  ASSERT_TRUE(pool.ok());
  ASSERT_TRUE((*pool)->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return !bench_.slurm_.Read("said").empty(); }));
  const pid_t worker = std::atoi(bench_.slurm_.Read("said").c_str());
  ASSERT_TRUE(PoolBench::Runs(worker));
  ASSERT_TRUE((*pool)->Kill((*pool)->List().at(0).handle, std::chrono::hours(1)).ok());
  EXPECT_TRUE(bench_.Until([&] { return !PoolBench::Runs(worker); })) << "by SIGTERM";
  ::kill(worker, SIGKILL);
}

TEST_F(ExecPoolTest, CommandsThatCannotServeAreRefused) {
  EXPECT_THAT(Make({}).status().message(), HasSubstr("{args}"));
  EXPECT_THAT(Make({{"command", "podman run IMAGE"}}).status().message(), HasSubstr("{args}"));
  EXPECT_THAT(Make({{"command", "sh -c '{args}"}}).status().message(),
              HasSubstr("without its end"));
  EXPECT_THAT(Make({{"command", "x {args}"}, {"stop", "podman stop all"}}).status().message(),
              HasSubstr("{member}"));
  EXPECT_THAT(Make({{"command", "x {args}"}, {"at-stop", "maybe"}}).status().message(),
              HasSubstr("--exec-at-stop"));
}

}  // namespace
}  // namespace headrace::coordinator
