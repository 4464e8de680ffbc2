#include "trainer_client/session/deadline_timer.h"

#include <memory>

#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::hours;
using std::chrono::milliseconds;

TEST(DeadlineTimer, TheEarliestTimeCounts) {
  const auto reactor = *net::Reactor::Make("test");
  int calls = 0;
  DeadlineTimer timer(*reactor, [&] { ++calls; });
  ASSERT_TRUE(reactor->Start().ok());
  const auto arm = [&](Duration after) {
    RunOn(*reactor, [&] {
      const SteadyTime now = reactor->clock().Now();
      timer.Arm(now + after, now);
    });
  };
  const auto called = [&] {
    int seen = 0;
    RunOn(*reactor, [&] { seen = calls; });
    return seen;
  };
  const auto await = [&](int wanted) {
    const SteadyTime end = reactor->clock().Now() + std::chrono::seconds(20);
    while (called() < wanted && reactor->clock().Now() < end) {
    }
    EXPECT_EQ(called(), wanted);
  };
  arm(hours(1));
  arm(milliseconds(1));
  await(1);
  arm(milliseconds(1));
  arm(hours(1));  // later: the first one stays
  await(2);
  arm(hours(1));
  RunOn(*reactor, [&] { timer.Cancel(); });
  arm(milliseconds(1));
  await(3);
  reactor->Stop();
}

}  // namespace
}  // namespace headrace::client
