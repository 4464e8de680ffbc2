// What neighbours say to each other is read as it was meant, or refused.
#include "dataworker/neighbours/neighbour_words.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr NeighbourGround kGround{7, 9};

TEST(NeighbourWords, WhatIsSaidIsRead) {
  const NeighbourAsk ask{
      .what = NeighbourAsk::What::kSegment, .request = 3, .number = std::uint64_t{1} << 63 | 5};
  const auto read = ReadNeighbourAsk(kGround, PacketOf(kGround, ask));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->what, ask.what);
  EXPECT_EQ(read->request, 3U);
  EXPECT_EQ(read->number, ask.number);
  const NeighbourTold told{
      .how = NeighbourTold::How::kHere, .request = 3, .version = 4, .size = 96};
  const auto heard = ReadNeighbourTold(kGround, PacketOf(kGround, told));
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->how, told.how);
  EXPECT_EQ(heard->request, 3U);
  EXPECT_EQ(heard->version, 4U);
  EXPECT_EQ(heard->size, 96U);
}

TEST(NeighbourWords, AnotherProtocolOrGroundIsNoNeighbour) {
  const NeighbourPacket packet = PacketOf(kGround, NeighbourAsk{});
  EXPECT_EQ(ReadNeighbourAsk({7, 8}, packet).status().code(), Code::kUnsupported);
  NeighbourPacket newer = packet;
  newer[4] ^= std::byte{3};
  EXPECT_EQ(ReadNeighbourAsk(kGround, newer).status().code(), Code::kUnsupported);
}

TEST(NeighbourWords, WhatIsNoPacketIsRefused) {
  const NeighbourPacket ask = PacketOf(kGround, NeighbourAsk{});
  const NeighbourPacket told = PacketOf(kGround, NeighbourTold{});
  EXPECT_EQ(ReadNeighbourAsk(kGround, told).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadNeighbourTold(kGround, ask).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadNeighbourAsk(kGround, ByteSpan(ask).first(63)).status().code(),
            Code::kInvalidArgument);
  for (const std::size_t at :
       {0U, 24U, 28U, 48U, 63U}) {  // magic, what, and those that say nothing
    NeighbourPacket damaged = ask;
    damaged[at] ^= std::byte{0x40};
    EXPECT_EQ(ReadNeighbourAsk(kGround, damaged).status().code(), Code::kInvalidArgument) << at;
  }
}

TEST(NeighbourWords, AGroundIsThatOfOneHostUserAndCoordinator) {
  const wire::HostIdentity host{.hostname = "h", .boot_id = "b", .uid = 5, .pid = 1};
  const NeighbourGround ground = NeighbourGroundOf(host, "tcp://head:7070");
  wire::HostIdentity other = host;
  other.pid = 2;
  EXPECT_EQ(NeighbourGroundOf(other, "tcp://head:7070"), ground);
  EXPECT_NE(NeighbourGroundOf(host, "tcp://head:7071"), ground);
  for (const wire::HostIdentity& stranger :
       std::vector<wire::HostIdentity>{{.hostname = "h", .boot_id = "c", .uid = 5},
                                       {.hostname = "i", .boot_id = "b", .uid = 5},
                                       {.hostname = "h", .boot_id = "b", .uid = 6},
                                       {.hostname = "", .boot_id = "bh", .uid = 5}}) {
    EXPECT_NE(NeighbourGroundOf(stranger, "tcp://head:7070"), ground);
  }
}

}  // namespace
}  // namespace headrace::dataworker
