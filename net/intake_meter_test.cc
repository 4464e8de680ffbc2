#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "net/intake_meter_internal.h"
#include "schemas/wire/message.h"

namespace headrace::net {
namespace {

constexpr std::uint8_t kMore = 1;
constexpr std::uint8_t kLongFrame = 2;
constexpr std::uint8_t kCommandFrame = 4;

std::string Greeting(std::uint8_t version = 3) {
  std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f", 10);
  greeting += static_cast<char>(version);
  return greeting + std::string(53, '\0');
}

// The head of a frame of `size` bytes.
std::string Head(std::uint64_t size, std::uint8_t flags = 0) {
  if (size < 256) return {static_cast<char>(flags), static_cast<char>(size)};
  std::string head(1, static_cast<char>(flags | kLongFrame));
  for (int shift = 56; shift >= 0; shift -= 8) head += static_cast<char>(size >> shift);
  return head;
}

std::string Frame(std::uint64_t size, std::uint8_t flags = 0) {
  return Head(size, flags) + std::string(size, 'x');
}

class IntakeMeterTest : public ::testing::Test {
 protected:
  std::string_view Take(std::string_view text) { return meter_.Take(AsBytes(text), limits_); }
  IntakeLimits limits_{.bytes = 1 << 20, .frames = 8};
  IntakeMeter meter_;
};

TEST_F(IntakeMeterTest, WhatIsHandedOnCostsNothingMore) {
  ASSERT_EQ(Take(Greeting()), "");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(Take(Frame(8, kMore) + Frame(300'000)), "");
    EXPECT_EQ(meter_.held(), 300'008 + 2 * IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes);
    meter_.HandedOn(2);
    EXPECT_EQ(meter_.held(), 0U);
  }
}

TEST_F(IntakeMeterTest, BytesMayComeOneByOne) {
  const std::string all = Greeting() + Frame(8, kMore) + Frame(0, kMore) + Frame(500);
  for (const char& byte : all) ASSERT_EQ(Take({&byte, 1}), "");
  EXPECT_EQ(meter_.held(), 508 + 3 * (IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes));
  meter_.HandedOn(1);
  EXPECT_EQ(meter_.held(), 500 + 2 * (IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes));
}

TEST_F(IntakeMeterTest, BytesOfOneFrameAreBoundedAsTheyCome) {
  ASSERT_EQ(Take(Greeting() + Head(2 << 20)), "");
  std::size_t came = 0;
  while (came < (2 << 20) && Take(std::string(1000, 'x')).empty()) came += 1000;
  EXPECT_LE(came, limits_.bytes);
  EXPECT_EQ(Take("x"), "more bytes than a message may have");
}

TEST_F(IntakeMeterTest, FramesWithoutBytesAreBounded) {
  ASSERT_EQ(Take(Greeting()), "");
  int frames = 0;
  while (frames < 100 && Take(Frame(0, kMore)).empty()) ++frames;
  EXPECT_EQ(frames, 8);
}

TEST_F(IntakeMeterTest, ManyFramesInOneReadAreBounded) {
  std::string all = Greeting();
  for (int i = 0; i < 20; ++i) all += Frame(1);
  EXPECT_EQ(Take(all), "more frames than a message may have");
}

TEST_F(IntakeMeterTest, CommandsAreFewAndSmall) {
  ASSERT_EQ(Take(Greeting() + Frame(40, kCommandFrame)), "");
  EXPECT_EQ(meter_.held(), 0U) << "ZeroMQ is done with it";
  int commands = 1;
  while (commands < 100 && Take(Frame(10, kCommandFrame | kMore)).empty()) ++commands;
  EXPECT_EQ(commands, static_cast<int>(IntakeMeter::kMaxCommands));
  IntakeMeter another;
  EXPECT_EQ(another.Take(AsBytes(Greeting() + Head(1 << 20, kCommandFrame)), limits_),
            "commands that nobody of ours sends");
}

TEST_F(IntakeMeterTest, AFrameOverTheLimitIsRefusedAtItsHead) {
  EXPECT_EQ(Take(Greeting() + Head(wire::kMaxBodyBytes + 4096)), "a frame over the limit");
  IntakeMeter another;
  EXPECT_EQ(another.Take(AsBytes(Greeting() + Head(UINT64_MAX)), limits_),
            "a frame over the limit");
}

TEST_F(IntakeMeterTest, WhatDoesNotSpeakZmtp3IsRefused) {
  for (const std::string& begin : {std::string("GET / HTTP/1.1\r\n"), Greeting(1), Greeting(0),
                                   std::string("\xff\0\0\0\0\0\0\0\0\0", 10)}) {
    IntakeMeter meter;
    EXPECT_EQ(meter.Take(AsBytes(begin), limits_), "a greeting that is not ZMTP 3");
  }
}

TEST_F(IntakeMeterTest, MoreThanCameCannotBeHandedOn) {
  ASSERT_EQ(Take(Greeting() + Frame(100) + Head(50) + "half"), "");
  meter_.HandedOn(1000);
  EXPECT_EQ(meter_.held(), 4 + IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes)
      << "the frame in progress";
}

TEST_F(IntakeMeterTest, SmallFramesShareTheBufferThatTheyWereReadInto) {
  std::string all = Greeting();
  for (int i = 0; i < 8; ++i) all += Frame(10);
  ASSERT_EQ(Take(all), "");
  EXPECT_EQ(meter_.held(), 8 * (10 + IntakeMeter::kFrameBytes) + IntakeMeter::kReadBytes);
  meter_.HandedOn(7);
  EXPECT_EQ(meter_.held(), 10 + IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes)
      << "the last one keeps it";
  meter_.HandedOn(1);
  EXPECT_EQ(meter_.held(), 0U);
}

TEST_F(IntakeMeterTest, ALargeFrameIsChargedForOneReadAlone) {
  ASSERT_EQ(Take(Greeting() + Head(500'000)), "");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(Take(std::string(10'000, 'x')), "");
  EXPECT_EQ(meter_.held(), 500'000 + IntakeMeter::kFrameBytes + IntakeMeter::kReadBytes);
}

}  // namespace
}  // namespace headrace::net
