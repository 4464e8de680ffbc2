#pragma once

#include <poll.h>

#include <span>
#include <vector>

#include "dataworker/session/leaf_neighbours_fixture.h"
#include "net/user_socket.h"

namespace headrace::dataworker::neighbour_tests {

using How = NeighbourTold::How;

inline LeafShelf::FullRow RowAt(std::uint64_t tag, std::uint64_t segment) {
  return {tag, 1, tag, 10, 0, 0, 7, 7, segment, 0, 64, 1000};
}

inline UniqueFd SealedRows(const std::vector<LeafShelf::FullRow>& rows) {
  auto file = MemoryFile("rows", std::as_bytes(std::span(rows)));
  EXPECT_TRUE(file.ok());
  return std::move(file).value();
}

// A process that answers as the test wants.
class PlayedNeighbour : public LeafNeighboursTest {
 protected:
  PlayedNeighbour() {
    auto listener = net::ListenForUser(folder_ + "/w7.leaves");
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
  }
  void Await(const UniqueFd& socket) {
    pollfd event{.fd = socket.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&event, 1, 60'000), 1);
  }
  void Accept() {
    Await(listener_);
    socket_ = net::AcceptWaiting(listener_.get());
    ASSERT_TRUE(socket_.valid());
  }
  NeighbourAsk Hear() {
    Await(socket_);
    NeighbourPacket packet;
    const net::TakenPacket taken = net::TakePacket(socket_.get(), packet);
    EXPECT_EQ(taken.bytes, packet.size());
    const auto ask = ReadNeighbourAsk(ground_, packet);
    EXPECT_TRUE(ask.ok());
    return ask.ok() ? *ask : NeighbourAsk();
  }
  void Say(const NeighbourTold& told, const UniqueFd& descriptor = UniqueFd()) {
    EXPECT_TRUE(net::SendPacketTo(socket_.get(), PacketOf(ground_, told), descriptor.get()).ok());
  }
  // Answers the question that comes next with these rows.
  void SayRows(const std::vector<LeafShelf::FullRow>& rows, std::uint64_t version = 1) {
    SayRowsTo(Hear().request, rows, version);
  }
  void SayRowsTo(std::uint64_t request, const std::vector<LeafShelf::FullRow>& rows,
                 std::uint64_t version) {
    Say({.how = How::kHere,
         .request = request,
         .version = version,
         .size = rows.size() * sizeof(LeafShelf::FullRow)},
        SealedRows(rows));
  }
  // Whether it was hung up on.
  bool IsHungUpOn() {
    Await(socket_);
    NeighbourPacket packet;
    return net::TakePacket(socket_.get(), packet).event == net::TakenPacket::Event::kHangup;
  }
  // Connects, and answers the first question so. Whether it is left alone after that.
  bool IsRefused(NeighbourTold told, const UniqueFd& descriptor) {
    TestHalf& half = Add("w1");
    const auto asked = half.Ask();
    Accept();
    told.request = Hear().request;
    Say(told, descriptor);
    asked->wait();
    const bool refused = half.RowsNow().empty() && IsHungUpOn();
    Advance(Neighbours::kLookEvery);
    EXPECT_TRUE(half.Rows().empty()) << "nobody is asked, and nobody waits";
    End(half);
    return refused;
  }

  const NeighbourGround ground_ = NeighbourGroundOf(kThisHost, kCoordinatorOfAll);
  UniqueFd listener_, socket_;
};

}  // namespace headrace::dataworker::neighbour_tests
