#include "remote/receive_window.h"

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::remote {
namespace {

unsigned Seed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20261128U;
}

TEST(ReceiveWindow, TheBufferFollowsTheRate) {
  EXPECT_EQ(kReceiveBuffers[ReceiveBufferFor(1)], 8192U);
  EXPECT_EQ(kReceiveBuffers[ReceiveBufferFor(3'276'799)], 8192U);
  EXPECT_EQ(kReceiveBuffers[ReceiveBufferFor(3'276'800)], 32768U);
  EXPECT_EQ(kReceiveBuffers[ReceiveBufferFor(20'000'000)], 131072U);
  EXPECT_EQ(kReceiveBuffers[ReceiveBufferFor(10'000'000'000)], 524288U);
}

TEST(ReceiveWindow, WhatMayComeIsPaidBeforeItIsRead) {
  ReceiveWindow window(100);
  EXPECT_EQ(window.Begin(1000), 200) << "a buffer, and one read";
  EXPECT_EQ(window.OnLength(250), 0);
  EXPECT_EQ(window.OnRead(60), 0);
  EXPECT_FALSE(window.ends());
  EXPECT_EQ(window.Allow(), 50) << "no more than the body can come";
  EXPECT_TRUE(window.ends());
  EXPECT_EQ(window.OnRead(190), 0);
  EXPECT_EQ(window.End(true), 0);
}

TEST(ReceiveWindow, AGuessThatWasWrongIsPutRight) {
  ReceiveWindow window(100);
  EXPECT_EQ(window.Begin(80), 80);
  EXPECT_EQ(window.OnLength(30), -50);
  ReceiveWindow longer(100);
  EXPECT_EQ(longer.Begin(10), 10);
  EXPECT_EQ(longer.OnLength(300), 190);
}

TEST(ReceiveWindow, WhatMayHaveComeOfAnAnswerThatEndsEarlyStaysPaid) {
  ReceiveWindow window(100);
  window.Begin(1000);
  window.OnLength(1000);
  window.OnRead(100);
  EXPECT_EQ(window.End(false), 0);
  ReceiveWindow refused(100);
  EXPECT_EQ(refused.Begin(1000), 200);
  EXPECT_EQ(refused.End(true), -200);
}

TEST(ReceiveWindow, WithoutALengthTheBufferIsTakenToBeFull) {
  ReceiveWindow window(100);
  EXPECT_EQ(window.Begin(10), 10);
  EXPECT_EQ(window.OnRead(5), 190);
  EXPECT_FALSE(window.ends());
  EXPECT_EQ(window.Allow(), 5);
  EXPECT_EQ(window.End(true), -200);
}

TEST(ReceiveWindow, WithoutABufferThatIsKnownBytesArePaidWhenTheyAreRead) {
  ReceiveWindow window(0);
  EXPECT_EQ(window.Begin(1'000'000), 0);
  EXPECT_EQ(window.OnLength(1'000'000), 0);
  EXPECT_EQ(window.OnRead(16384), 16384);
  EXPECT_FALSE(window.ends());
  EXPECT_EQ(window.Allow(), 0);
  EXPECT_EQ(window.OnRead(900'000), 900'000);
  EXPECT_TRUE(window.ends());
}

// Whatever a sender does that keeps to the buffer, it has sent no more than was paid.
TEST(ReceiveWindow, NoByteComesThatWasNotPaid) {
  for (unsigned round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(Seed() + round) + " (--gtest_random_seed)");
    std::mt19937_64 random(Seed() + round);
    const std::uint64_t buffer = 1 + random() % 1000;
    const std::uint64_t length = 1 + random() % 5000;
    ReceiveWindow window(buffer);
    std::int64_t paid = window.Begin(length);
    std::uint64_t sent = 0, read = 0;
    bool told = false, may_read = true;
    while (read < length) {
      if (random() % 2 == 0) sent = std::min(length, read + random() % (buffer + 1));
      sent = std::max(sent, read);
      ASSERT_LE(static_cast<std::int64_t>(sent), paid);
      if (!told && random() % 3 == 0) {
        paid += window.OnLength(length);
        told = true;
      }
      if (!may_read && random() % 3 == 0) {
        paid += window.Allow();
        may_read = true;
      }
      if (sent == read || !(may_read || window.ends())) continue;
      const std::uint64_t now = 1 + random() % (sent - read);
      const std::int64_t more = window.OnRead(now);
      // A read that was allowed costs nothing more, unless the length was not known.
      ASSERT_TRUE(more <= 0 || !told);
      read += now;
      paid += more;
      may_read = false;
    }
    ASSERT_GE(paid, static_cast<std::int64_t>(length));
    paid += window.End(true);
    ASSERT_EQ(paid, static_cast<std::int64_t>(length));
  }
}

}  // namespace
}  // namespace headrace::remote
