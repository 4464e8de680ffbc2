// The private coordinator and its workers: start and end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "tests/integration/images.h"
#include "tests/integration/service.h"
#include "trainer_client/service/embedded_coordinator.h"

namespace headrace::testing_support {
namespace {

// "ipc:///tmp/headrace-abc/control" -> "/tmp/headrace-abc"
std::string FolderOf(const Client& client) {
  return std::filesystem::path(client.coordinator_endpoint().substr(6)).parent_path();
}

TEST(Embedded, EndsWithItsLastClientAndLeavesNothingBehind) {
  auto one = *Client::Open(EmbeddedOptions(1));
  auto two = *Client::Open(EmbeddedOptions(1));
  EXPECT_EQ(one->coordinator_endpoint(), two->coordinator_endpoint());
  const std::string folder = FolderOf(*one);
  const std::vector<int> children = ChildrenOf(::getpid());
  ASSERT_EQ(children.size(), 1U);
  one.reset();
  EXPECT_TRUE(std::filesystem::exists(folder));
  two.reset();
  EXPECT_TRUE(WaitForEnd(children[0], 5000));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Embedded, EndsWithATrainerThatIsKilled) {
  // The trainer is a forked child that opens a client of its own and then waits for its end.
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t trainer = ::fork();
  if (trainer == 0) {
    const auto client = *Client::Open(EmbeddedOptions(1));
    const std::string folder = FolderOf(*client) + "\n";
    (void)!::write(pipe[1], folder.data(), folder.size());
    for (;;) ::pause();
  }
  std::string folder;
  for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) folder += c;
  const std::vector<int> coordinators = ChildrenOf(trainer);
  ASSERT_EQ(coordinators.size(), 1U);
  const std::vector<int> workers = ChildrenOf(coordinators[0]);
  ::kill(trainer, SIGKILL);
  ::waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(WaitForEnd(coordinators[0], 5000));
  for (const int worker : workers) EXPECT_TRUE(WaitForEnd(worker, 5000));
  EXPECT_FALSE(std::filesystem::exists(folder));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Embedded, CtrlCOfTheTerminalIsNotForIt) {
  const auto client = *Client::Open(EmbeddedOptions(1));
  const std::vector<int> children = ChildrenOf(::getpid());
  ASSERT_EQ(children.size(), 1U);
  EXPECT_NE(::getpgid(children[0]), ::getpgid(0));
}

TEST(Embedded, MissingProgramIsNamed) {
  ClientOptions options = EmbeddedOptions(1);
  options.binary = "/nowhere/headrace";
  const Status status = Client::Open(options).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr("/nowhere/headrace"));
}

TEST(Embedded, ProgramThatEndsAtOnceIsAnErrorAtOnce) {
  ClientOptions options = EmbeddedOptions(1);
  options.binary = "/bin/false";
  const Status status = Client::Open(options).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr("ended"));
}

TEST(Embedded, WrongCoordinatorIsNamedWithTheRemedy) {
  ClientOptions options;
  options.coordinator = "tcp://127.0.0.1:9";
  options.connect_timeout = std::chrono::milliseconds(300);
  const Status status = Client::Open(options).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), testing::AllOf(testing::HasSubstr("tcp://127.0.0.1:9"),
                                               testing::HasSubstr("headrace coordinator")));
}

TEST(Embedded, CpuTimeOfTheServiceIsCounted) {
  const auto client = *Client::Open(EmbeddedOptions(1));
  TemporaryFolder images;
  MakeImages(images.path(), 2, 100);
  const auto folder = *OpenImageFolder(images.path(), {});
  const auto session = *client->OpenSession(folder.plan, folder.blobs, {});
  for (int epoch = 0; epoch < 3; ++epoch) {
    RunIteration(*session, IndexBatches(folder.samples, 16, 1), {});
  }
  EXPECT_GT(client->ServiceCpuSeconds(), 0.05);
}

}  // namespace
}  // namespace headrace::testing_support
