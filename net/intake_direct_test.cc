// What Intake does by itself, with the sockets of two peers and no ZeroMQ between.
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "net/intake.h"

namespace headrace::net {
namespace {

constexpr std::uint64_t kMb = std::uint64_t{1} << 20;

// A connection that was accepted, and its peer's end.
struct Accepted {
  UniqueFd ours, peer;
};

class IntakeDirectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Intake::Process().Open({.bytes = 64 * kMb, .frames = 1024, .total_bytes = 10 * kMb});
  }
  void TearDown() override { Intake::Process().Close(); }

  static Accepted Accept(int listener = -1) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    EXPECT_TRUE(Intake::Process().Accepted(ends[0], listener));
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  // As if the peer had sent a greeting and a frame of `size` bytes that nobody has read yet.
  static bool Holds(const Accepted& connection, std::uint64_t size) {
    std::string bytes("\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL", 16);
    bytes.append(48, '\0').append("\x03\0\0\0\0", 5);  // more, long
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
    bytes.append(size, 'x');
    return Intake::Process().Admit(connection.ours.get(), AsBytes(bytes));
  }
  // Whether the peer's end has been told that the connection is over, though ours is open.
  static bool HungUp(const Accepted& connection) {
    char byte = 0;
    return ::recv(connection.peer.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
};

TEST_F(IntakeDirectTest, WhatAnotherServerAcceptsIsItsOwn) {
  const UniqueFd theirs(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Intake::Process().Overlook(theirs.get());
  const ByteSpan request = AsBytes(std::string_view("GET / HTTP/1.1\r\n\r\n and more of it"));
  const Accepted browser = Accept(theirs.get());
  EXPECT_TRUE(Intake::Process().Admit(browser.ours.get(), request));
  const UniqueFd ours(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Accepted lost = Accept(ours.get());
  EXPECT_FALSE(Intake::Process().Admit(lost.ours.get(), request));
}

TEST_F(IntakeDirectTest, WhoGoesBeyondTheLimitsIsHungUpOnAtOnce) {
  const Accepted stranger = Accept();
  EXPECT_FALSE(HungUp(stranger));
  EXPECT_FALSE(Intake::Process().Admit(stranger.ours.get(), AsBytes("GET / HTTP/1.1\r\n")));
  EXPECT_TRUE(HungUp(stranger)) << "ZeroMQ would read on";
}

TEST_F(IntakeDirectTest, WhatEndedConnectionsHeldCutsNobody) {
  Accepted ended = Accept();
  EXPECT_TRUE(Holds(ended, 4 * kMb));
  const Accepted live = Accept();
  EXPECT_TRUE(Holds(live, 5 * kMb));
  const Accepted third = Accept();  // before the end, so that it has another descriptor
  ended.ours.reset();               // without a word to Intake
  EXPECT_TRUE(Holds(third, 4 * kMb));
  EXPECT_FALSE(HungUp(live)) << "5 and 4 MiB are within the limit of 10";
  EXPECT_FALSE(HungUp(third));
}

TEST_F(IntakeDirectTest, ADescriptorThatIsUsedAgainBeginsWithNothing) {
  Accepted first = Accept();
  EXPECT_TRUE(Holds(first, 6 * kMb));
  first.ours.reset();
  const Accepted second = Accept();
  EXPECT_TRUE(Holds(second, 6 * kMb));
  EXPECT_LT(Intake::Process().held(), 7 * kMb);
}

}  // namespace
}  // namespace headrace::net
