#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/process/child_process.h"
#include "base/process/private_directory.h"
#include "base/process/spawn.h"
#include "base/process/stats.h"
#include "gmock/gmock.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr milliseconds kLong{60'000};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = fs::temp_directory_path() / "headrace-process-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ProcessTest() override { fs::remove_all(directory_); }

  static ChildProcess Shell(const std::string& script, SpawnOptions options = {}) {
    options.command = {"sh", "-c", script};
    Result<ChildProcess> child = ChildProcess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status().ToString();
    return child.ok() ? std::move(*child) : ChildProcess();
  }
  static ChildProcess::Ended End(ChildProcess& child) {
    EXPECT_TRUE(child.AwaitEnd(kLong));
    const std::optional<ChildProcess::Ended> ended = child.Reap();
    EXPECT_TRUE(ended.has_value());
    return ended.value_or(ChildProcess::Ended{});
  }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path directory_;
};

TEST_F(ProcessTest, HowAProgramEnded) {
  ChildProcess good = Shell("exit 0"), bad = Shell("exit 3"), killed = Shell("kill -9 $$");
  EXPECT_FALSE(End(good).failed);
  const ChildProcess::Ended three = End(bad), nine = End(killed);
  EXPECT_TRUE(three.failed && nine.failed);
  EXPECT_EQ(three.how, "ended with status 3");
  EXPECT_EQ(nine.how, "was killed by signal 9");
  EXPECT_EQ(good.pid(), 0);
  EXPECT_EQ(good.Reap(), std::nullopt);
}

TEST_F(ProcessTest, WhatOneLooksAtIsNotReaped) {
  ChildProcess child = Shell("exit 1");
  ASSERT_TRUE(child.AwaitEnd(kLong));
  ASSERT_TRUE(child.Look().has_value());
  EXPECT_EQ(child.Look()->how, "ended with status 1");
  EXPECT_EQ(::kill(child.pid(), 0), 0);  // a zombie keeps its id
  EXPECT_EQ(child.Reap()->how, "ended with status 1");
}

TEST_F(ProcessTest, ItsTimesAreThoseOfItsChildrenToo) {
  ChildProcess child = Shell("sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'");
  EXPECT_GT(End(child).cpu_seconds, 0.005);
}

TEST_F(ProcessTest, OneThatRunsIsNeitherLookedAtNorReaped) {
  ChildProcess child = Shell("exec sleep 600");
  EXPECT_TRUE(child.running());
  EXPECT_FALSE(child.AwaitEnd(milliseconds(0)));
  EXPECT_EQ(child.Look(), std::nullopt);
  EXPECT_EQ(child.Reap(), std::nullopt);
  child.Signal(SIGTERM);
  EXPECT_EQ(End(child).how, "was killed by signal 15");
}

TEST_F(ProcessTest, OneThatSomebodyElseReapedHasEnded) {
  ChildProcess child = Shell("exit 0");
  ASSERT_EQ(::waitpid(child.pid(), nullptr, 0), child.pid());
  EXPECT_FALSE(child.running());
  EXPECT_TRUE(child.Look()->failed);
  child.Signal(SIGTERM);  // reaches no process
  EXPECT_THAT(child.Reap()->how, HasSubstr("nobody knows how"));
}

TEST_F(ProcessTest, WithItsGroupGoesWhatItHasStarted) {
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ChildProcess child =
      Shell("sleep 600 > " + fifo + " & exit 0", {.empty_input = true, .own_group = true});
  const UniqueFd held(::open(fifo.c_str(), O_RDONLY | O_CLOEXEC));  // until `sleep` has opened it
  ASSERT_TRUE(child.AwaitEnd(kLong));
  child.Kill();
  char byte = 0;
  EXPECT_EQ(::read(held.get(), &byte, 1), 0);  // its last writer is gone
  EXPECT_EQ(child.pid(), 0);
}

TEST_F(ProcessTest, WhatAProgramIsGiven) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const UniqueFd ours(pipe[0]), theirs(pipe[1]);
  const int not_passed = ::dup(pipe[0]);  // without O_CLOEXEC
  SpawnOptions options{.environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "WORD=given"},
                       .empty_input = true,
                       .log = directory_ / "log",
                       .close_others = true};
  ChildProcess child = Shell("cat; echo $WORD; echo wrong >&2; [ -e /proc/self/fd/" +
                                 std::to_string(not_passed) + " ] && echo passed",
                             options);
  End(child);
  ::close(not_passed);
  EXPECT_EQ(Read("log"), "given\nwrong\n");
  SpawnOptions with_pipe{.descriptors = {{theirs.get(), 7}}};
  ChildProcess writer = Shell("echo 7 >&7", with_pipe);
  End(writer);
  char byte = 0;
  EXPECT_EQ(::read(ours.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '7');
}

TEST_F(ProcessTest, SignalsAreAsAFreshProgramHasThem) {
  const auto before = ::signal(SIGTERM, SIG_IGN);
  ChildProcess child = Shell("kill -15 $$; exit 0");
  ::signal(SIGTERM, before);
  EXPECT_EQ(End(child).how, "was killed by signal 15");
}

TEST_F(ProcessTest, AProgramThatIsNotThereOrMayNotRunIsNotFound) {
  std::ofstream(directory_ / "text") << "text";
  for (const std::string& program : {std::string("/no/program"), std::string("no-such-program"),
                                     (directory_ / "text").string()}) {
    EXPECT_EQ(Spawn({.command = {program}}).status().code(), Code::kNotFound) << program;
  }
  EXPECT_EQ(Spawn({}).status().code(), Code::kInvalidArgument);
}

TEST_F(ProcessTest, APrivateDirectoryIsMadeOrIsOurs) {
  const std::string path = directory_ / "private";
  ASSERT_TRUE(MakePrivateDirectory(path).ok());
  EXPECT_TRUE(MakePrivateDirectory(path).ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  fs::permissions(path, fs::perms::others_exec, fs::perm_options::add);
  EXPECT_EQ(MakePrivateDirectory(path).code(), Code::kInvalidArgument);
  fs::permissions(path, fs::perms::owner_all);
  fs::create_directory_symlink(path, directory_ / "link");
  EXPECT_EQ(MakePrivateDirectory(directory_ / "link").code(), Code::kInvalidArgument);
  EXPECT_EQ(MakePrivateDirectory(directory_ / "no" / "parent").code(), Code::kNotFound);
}

TEST(ProcessStats, ANameWithParenthesesAndSpacesHidesNoTimes) {
  char name[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, ") R 9 (9 9 )"), 0);
  while (OwnCpuSeconds() < 0.05) {
  }
  const double least = OwnCpuSeconds() + EndedChildrenCpuSeconds();
  const double seen = ProcessCpuSeconds(::getpid());
  const double most = OwnCpuSeconds() + EndedChildrenCpuSeconds();
  EXPECT_EQ(::prctl(PR_SET_NAME, name), 0);
  const double four_ticks = 4.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));  // each rounds down
  EXPECT_GE(seen, least - four_ticks);
  EXPECT_LE(seen, most);
  EXPECT_EQ(ProcessCpuSeconds(-1), 0);
}

}  // namespace
}  // namespace headrace
