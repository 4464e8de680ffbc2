#include "coordinator/pool/core/engine_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "coordinator/pool/core/fake_reactor.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class EngineCommandsTest : public testing::Test {
 protected:
  EngineCommands::Done Keep() {
    return [this](EngineCommands::Ended ended) { ended_.push_back(std::move(ended)); };
  }
  void RunUntilEnded(std::size_t count = 1) {
    while (ended_.size() < count) {
      if (!reactor_.RunOneFd(10)) reactor_.Advance(seconds(0));
    }
  }

  FakeReactor reactor_;
  std::unique_ptr<EngineCommands> commands_ = std::make_unique<EngineCommands>(reactor_);
  std::vector<EngineCommands::Ended> ended_;
};

TEST_F(EngineCommandsTest, OutputAndInputPassWhole) {
  const std::string input(300'000, 'x');  // more than a pipe holds
  commands_->Start({.words = {"sh", "-c", "cat; echo $NAME"},
                    .environment = {{"NAME=value", "PATH=/usr/bin:/bin"}},
                    .input = input},
                   Keep());
  EXPECT_TRUE(ended_.empty());
  RunUntilEnded();
  EXPECT_TRUE(ended_[0].status.ok());
  EXPECT_EQ(ended_[0].output, input + "value\n");
  EXPECT_EQ(reactor_.watched(), 0U);
  EXPECT_EQ(reactor_.timers(), 0U);
}

TEST_F(EngineCommandsTest, AFailureHasWhatTheCommandSaid) {
  commands_->Start({.words = {"sh", "-c", "echo one >&2; echo two >&2; exit 3"}}, Keep());
  RunUntilEnded();
  EXPECT_EQ(ended_[0].status.code(), Code::kUnavailable);
  EXPECT_THAT(ended_[0].status.message(), HasSubstr("sh ended with status 3: one; two"));
}

TEST_F(EngineCommandsTest, AProgramThatIsNotThereIsToldLater) {
  commands_->Start({.words = {"/no/such/sbatch"}}, Keep());
  EXPECT_TRUE(ended_.empty());
  RunUntilEnded();
  EXPECT_EQ(ended_[0].status.code(), Code::kNotFound);
}

TEST_F(EngineCommandsTest, OneThatHangsIsKilledWithAllOfItsProcessesAndToldOnce) {
  std::string file = (std::filesystem::temp_directory_path() / "hangs-XXXXXX").string();
  ::close(::mkstemp(file.data()));
  const auto child = [&] {
    int pid = 0;
    std::ifstream(file) >> pid;
    return pid;
  };
  commands_->Start(
      {.words = {"sh", "-c",
                 "sleep 1000 & echo $! > " + file + "; trap '' TERM; echo begun; sleep 1000; true"},
       .patience = seconds(30)},
      Keep());
  ASSERT_TRUE(reactor_.RunOneFd());
  reactor_.Advance(seconds(29));
  EXPECT_TRUE(ended_.empty());
  ASSERT_GT(child(), 0);
  reactor_.Advance(seconds(1));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_EQ(ended_[0].status.code(), Code::kDeadlineExceeded);
  while (reactor_.watched() > 0) ASSERT_TRUE(reactor_.RunOneFd());  // it is reaped
  EXPECT_EQ(ended_.size(), 1U);
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  const auto runs = [&] {
    std::ifstream stat("/proc/" + std::to_string(child()) + "/stat");
    std::string text;
    std::getline(stat, text);
    return !text.empty() && text.substr(text.rfind(')') + 2, 1) != "Z";
  };
  while (runs() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(runs());
  std::filesystem::remove(file);
}

// A daemon that a command has left behind keeps its output open.
TEST_F(EngineCommandsTest, WhoeverInheritsTheOutputIsNotWaitedFor) {
  commands_->Start({.words = {"sh", "-c", "sleep 3 & echo done"}}, Keep());
  RunUntilEnded();
  EXPECT_EQ(ended_[0].output, "done\n");
}

TEST_F(EngineCommandsTest, TheEndOfAllIsTheEndOfEach) {
  commands_->Start({.words = {"sh", "-c", "sleep 1000"}}, Keep());
  commands_->Start({.words = {"/no/such/program"}}, Keep());
  commands_.reset();
  EXPECT_EQ(reactor_.watched(), 0U);
  EXPECT_EQ(reactor_.timers(), 0U);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(EngineCommandsTest, RunWaitsAsLongAsItMay) {
  EXPECT_TRUE(EngineCommands::Run({.words = {"true"}}).ok());
  EXPECT_EQ(EngineCommands::Run({.words = {"false"}}).code(), Code::kUnavailable);
  EXPECT_EQ(
      EngineCommands::Run({.words = {"sleep", "1000"}, .patience = std::chrono::milliseconds(10)})
          .code(),
      Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace headrace::coordinator
