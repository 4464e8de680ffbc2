#include "trainer_client/service/local_worker.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/process/spawn.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using std::chrono::seconds;

// A program in the worker's place.
class Kept {
 public:
  explicit Kept(std::vector<std::string> command) : worker_(std::move(command)) {}

  Status Want() { return worker_.Want(now_); }
  // Runs after `time` more.
  bool RunsAfter(Duration time) {
    now_ += time;
    worker_.Keep(now_);
    return worker_.pid() != 0;
  }
  void Kill() { ::kill(static_cast<pid_t>(worker_.pid()), SIGKILL); }
  void AwaitEnd() {
    if (const std::int64_t pid = worker_.pid(); pid != 0) {  // not reaped: Keep does that
      const UniqueFd end = OpenPidfd(static_cast<pid_t>(pid));
      pollfd fd{end.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&fd, 1, 10'000), 1);
    }
    ASSERT_EQ(worker_.pid(), 0);
  }
  // Pause before it runs again, at most 100 s.
  int PauseAfterDeath() {
    Kill();
    AwaitEnd();
    for (int pause = 0; pause <= 100; ++pause) {
      if (RunsAfter(seconds(pause == 0 ? 0 : 1))) return pause;
    }
    return -1;
  }

 private:
  SteadyTime now_{seconds(1000)};
  LocalWorker worker_;
};

const std::vector<std::string> kStays = {"sleep", "1000"};

TEST(LocalWorker, IsStartedAgainAfterPausesThatStayShort) {
  Kept worker(kStays);
  EXPECT_FALSE(worker.RunsAfter(seconds(1)));  // nobody wants it yet
  ASSERT_TRUE(worker.Want().ok());
  for (const int pause : {1, 2, 2, 2, 2}) EXPECT_EQ(worker.PauseAfterDeath(), pause);
  EXPECT_TRUE(worker.RunsAfter(seconds(60)));
  EXPECT_EQ(worker.PauseAfterDeath(), 1);  // it had lived long
}

TEST(LocalWorker, ThatEndsByItselfStaysAwayUntilItIsWantedAgain) {
  Kept worker({"sh", "-c", "exit 0"});
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(worker.Want().ok());
    worker.AwaitEnd();
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(worker.RunsAfter(seconds(100)));
  }
}

TEST(LocalWorker, ThatFailsIsTriedAgain) {
  const std::string failed = testing::TempDir() + "local_worker_failed";
  std::filesystem::remove(failed);
  Kept worker({"sh", "-c", "test -e $0 && exec sleep 1000; touch $0; exit 3", failed});
  ASSERT_TRUE(worker.Want().ok());
  worker.AwaitEnd();
  EXPECT_FALSE(worker.RunsAfter(seconds(0)));  // sees the end
  EXPECT_TRUE(worker.RunsAfter(seconds(1)));
  std::filesystem::remove(failed);
}

TEST(LocalWorker, ThatDiedIsStartedAtOnceWhereItIsWanted) {
  Kept worker(kStays);
  ASSERT_TRUE(worker.Want().ok());
  worker.Kill();
  worker.AwaitEnd();
  ASSERT_TRUE(worker.Want().ok());
  EXPECT_TRUE(worker.RunsAfter(seconds(0)));
}

TEST(LocalWorker, WithoutAProgramIsAnError) {
  LocalWorker worker({"/nowhere/headrace"});
  EXPECT_EQ(worker.Want({}).code(), Code::kNotFound);
  EXPECT_EQ(worker.pid(), 0);
}

}  // namespace
}  // namespace headrace::client
