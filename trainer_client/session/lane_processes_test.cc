#include "trainer_client/session/lane_processes.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::client {
namespace {

class LaneProcessesTest : public ::testing::Test {
 protected:
  LaneProcessesTest() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    theirs_ = UniqueFd(fds[1]);
    std::vector<LaneProcesses::Lane> lanes(1);
    lanes.front().control = UniqueFd(fds[0]);
    lanes_.Replace(std::move(lanes));
  }
  // What a worker reads at the other end: 0 is the connection's end, -1 that nothing came.
  static ssize_t Read(const UniqueFd& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
  }

  LaneProcesses lanes_;
  UniqueFd theirs_;  // the process's end
};

TEST_F(LaneProcessesTest, TheProcessGetsTheOtherEnd) {
  const Result<UniqueFd> ours = lanes_.Connect(0);
  ASSERT_TRUE(ours.ok());
  EXPECT_EQ(Read(*ours), -1);
  theirs_.reset();  // with the socket that it had not taken
  EXPECT_EQ(Read(*ours), 0);
}

// A worker that got no connection would wait for the lane, and the program for its batch.
TEST_F(LaneProcessesTest, OfAProcessThatHasEndedTheConnectionHasEnded) {
  theirs_.reset();
  const Result<UniqueFd> ours = lanes_.Connect(0);
  ASSERT_TRUE(ours.ok());
  EXPECT_EQ(Read(*ours), 0);
}

}  // namespace
}  // namespace headrace::client
