#include "dataworker/stage/lane_hosts.h"

#include <sys/socket.h>

#include <array>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class LaneHostsTest : public ::testing::Test {
 protected:
  Status Give(std::int32_t lane, std::uint64_t set, std::int64_t pid = 7) {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    theirs_ = UniqueFd(fds[1]);
    return hosts_.Give({.lane = lane, .set = set}, UniqueFd(fds[0]), pid);
  }
  Result<std::optional<StageHosts::Begun>> Begin(std::int32_t lane, std::uint64_t set) {
    return hosts_.Begin(1, {.lane = lane, .set = set});
  }

  LaneHosts hosts_{2};
  UniqueFd theirs_;
};

TEST_F(LaneHostsTest, ALaneThatIsOnItsWayIsWaitedFor) {
  EXPECT_FALSE(Begin(0, 1).value().has_value());
  ASSERT_TRUE(Give(0, 1, 42).ok());
  const auto begun = Begin(0, 1);
  ASSERT_TRUE(begun.ok() && begun->has_value());
  EXPECT_EQ((*begun)->pid, 42);
}

TEST_F(LaneHostsTest, ALaneWhoseProcessHasEndedHasNoOther) {
  ASSERT_TRUE(Give(0, 1).ok());
  ASSERT_TRUE(Begin(0, 1).ok());
  const auto again = Begin(0, 1);
  EXPECT_EQ(again.status().code(), Code::kUnavailable);
  EXPECT_THAT(again.status().message(), HasSubstr("has ended"));
}

// Its batch would wait for ever, and those after it.
TEST_F(LaneHostsTest, AProcessThatEndedOnTheWayIsNotWaitedFor) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  UniqueFd ours(fds[0]);
  UniqueFd(fds[1]).reset();
  ASSERT_TRUE(hosts_.Give({.lane = 0, .set = 1}, std::move(ours), 7).ok());
  EXPECT_THAT(Begin(0, 1).status().message(), HasSubstr("has ended"));
  ASSERT_TRUE(Give(0, 1).ok());
  EXPECT_TRUE(Begin(0, 1).value().has_value());
}

TEST_F(LaneHostsTest, ALaneThatIsGivenAgainBeginsAgain) {
  ASSERT_TRUE(Give(0, 1).ok());
  ASSERT_TRUE(Begin(0, 1).ok());
  ASSERT_TRUE(Give(0, 1).ok());
  EXPECT_TRUE(Begin(0, 1).value().has_value());
}

TEST_F(LaneHostsTest, ALaterSetTakesThePlaceOfTheOneBefore) {
  ASSERT_TRUE(Give(0, 1).ok());
  ASSERT_TRUE(Give(1, 2).ok());
  EXPECT_THAT(Begin(0, 1).status().message(), HasSubstr("replaced"));
  EXPECT_FALSE(Begin(0, 2).value().has_value());
  EXPECT_TRUE(Begin(1, 2).value().has_value());
  EXPECT_THAT(Give(0, 1).message(), HasSubstr("replaced"));
}

TEST_F(LaneHostsTest, LanesThatASessionDoesNotHaveAreRefused) {
  EXPECT_EQ(Give(2, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(Give(-1, 1).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::dataworker
