// Neighbours that are late, silent, or gone hold nobody up, and nobody takes one for another.
#include <future>
#include <thread>
#include <utility>

#include "dataworker/session/played_neighbour_fixture.h"

namespace headrace::dataworker::neighbour_tests {
namespace {

class LateNeighbour : public PlayedNeighbour {
 protected:
  // A worker that has heard of these rows.
  TestHalf& AddThatKnows(const std::vector<LeafShelf::FullRow>& rows) {
    TestHalf& half = Add("w1");
    const auto asked = half.Ask();
    Accept();
    SayRows(rows);
    asked->wait();
    EXPECT_EQ(half.RowsNow().size(), rows.size());
    return half;
  }
  // Asks for what there is, and gets no answer in time.
  void AskInVain(TestHalf& half) {
    const auto asked = half.Ask();
    RunOn(*reactor_, [] {});  // it has been asked
    Advance(Neighbours::kPatience);
    asked->wait();
  }
  bool IsReady(const std::future<Result<Neighbours::File>>& came) {
    RunOn(*reactor_, [] {});
    return came.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};

// A large index takes longer to make than anybody waits.
TEST_F(LateNeighbour, OneThatIsLateWithEachIndexKeepsTheOneBefore) {
  TestHalf& half = AddThatKnows({RowAt(1, 1)});
  for (std::uint64_t version = 2; version < 5; ++version) {
    AskInVain(half);
    EXPECT_EQ(half.RowsNow().size(), version - 1);
    std::vector<LeafShelf::FullRow> rows;
    for (std::uint64_t tag = 0; tag < version; ++tag) rows.push_back(RowAt(tag, 1));
    SayRows(rows, version);
    while (half.RowsNow().size() < version) std::this_thread::yield();
  }
}

TEST_F(LateNeighbour, OneThatIsSilentTwiceHoldsNobodyUpAndCountsAsGoneUntilItAnswers) {
  TestHalf& half = AddThatKnows({RowAt(5, 1)});
  const auto rows = half.RowsNow();
  AskInVain(half);
  AskInVain(half);
  EXPECT_TRUE(half.RowsNow().empty());
  EXPECT_EQ(half.Segment(rows[0][8]).status().code(), Code::kNotFound);
  half.Ask()->wait();  // nor is it waited for again
  Say({.how = How::kSame, .request = Hear().request, .version = 1});
  while (half.RowsNow().empty()) std::this_thread::yield();
  EXPECT_EQ(half.RowsNow(), rows);
}

TEST_F(LateNeighbour, OneThatIsSilentAtASegmentHoldsUpNoneOfTheOthers) {
  TestHalf& half = AddThatKnows({RowAt(1, 1), RowAt(2, 2), RowAt(3, 3)});
  const auto rows = half.RowsNow();
  auto first = half.AskSegment(rows[0][8]);
  (void)Hear();
  Advance(Neighbours::kPatience - Duration(1));
  auto second = half.AskSegment(rows[1][8]);
  (void)Hear();
  EXPECT_FALSE(IsReady(first));
  Advance(Duration(1));
  EXPECT_EQ(first.get().status().code(), Code::kNotFound);
  ASSERT_TRUE(IsReady(second)) << "it would wait as long";
  EXPECT_EQ(second.get().status().code(), Code::kNotFound);
  auto third = half.AskSegment(rows[2][8]);
  ASSERT_TRUE(IsReady(third));
  EXPECT_EQ(third.get().status().code(), Code::kNotFound);
  EXPECT_TRUE(half.RowsNow().empty());
  const auto asked = half.Ask();
  const NeighbourAsk next = Hear();
  EXPECT_EQ(next.what, NeighbourAsk::What::kIndex) << "and was asked no third time";
  Say({.how = How::kSame, .request = next.request, .version = 1});
  asked->wait();
  EXPECT_EQ(half.RowsNow(), rows) << "it is back";
}

// As one that has a descriptor too few hears it. There is nothing to say against the neighbour.
TEST_F(LateNeighbour, AnAnswerWhoseDescriptorHasNotComeIsNoneAndTheNextCounts) {
  TestHalf& half = Add("w1");
  auto asked = half.Ask();
  Accept();
  const std::uint64_t size = sizeof(LeafShelf::FullRow);
  Say({.how = How::kHere, .request = Hear().request, .version = 1, .size = size});
  asked->wait();
  EXPECT_TRUE(half.RowsNow().empty());
  asked = half.Ask();
  SayRows({RowAt(5, 1)});
  asked->wait();
  const auto rows = half.RowsNow();
  ASSERT_EQ(rows.size(), 1U);
  auto segment = half.AskSegment(rows[0][8]);
  Say({.how = How::kHere, .request = Hear().request, .size = 4096});
  EXPECT_EQ(segment.get().status().code(), Code::kNotFound);
  EXPECT_EQ(half.RowsNow(), rows);
  segment = half.AskSegment(rows[0][8]);
  const auto content = MemoryFile("segment", Pixels(4096, 9));
  Say({.how = How::kHere, .request = Hear().request, .size = 4096}, *content);
  EXPECT_TRUE(segment.get().ok());
}

TEST_F(LateNeighbour, WhoAsksAgainInsideABadAnswerIsToldThatItHasGone) {
  TestHalf& half = AddThatKnows({RowAt(5, 1)});
  const std::uint64_t neighbour = LeafShelf::PlaceOf(half.RowsNow()[0][8]).neighbour;
  std::promise<std::pair<Code, Code>> came;
  half.reactor.Post([&] {
    half.neighbours.Segment(neighbour, 1, [&](const Result<Neighbours::File>& first) {
      const Code bad = first.status().code();
      half.neighbours.Segment(neighbour, 1, [&, bad](const Result<Neighbours::File>& second) {
        came.set_value({bad, second.status().code()});
      });
    });
  });
  Say({.how = How::kSame, .request = Hear().request});
  EXPECT_EQ(came.get_future().get(), std::pair(Code::kInvalidArgument, Code::kNotFound));
  EXPECT_TRUE(IsHungUpOn()) << "and was asked nothing before that";
}

// A lane may have an index of any age: there an id that came again would name another worker's segment.
TEST_F(LateNeighbour, NoIdIsGivenTwice) {
  TestHalf& half = Add("w1");
  RunOn(*reactor_, [&] {
    half.neighbours.Begin({.directory = folder_,
                           .own = "w1.leaves",
                           .ground = ground_,
                           .most_index_bytes = 1 << 20,
                           .is_index = LeafShelf::IsIndex,
                           .is_of_a_file = [](std::uint64_t) { return false; },
                           .most_segment_bytes = 1 << 20,
                           .most_id = 2});
  });
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto asked = half.Ask();
    Accept();
    SayRows({RowAt(5, 1)});
    asked->wait();
    ASSERT_EQ(half.RowsNow().size(), 1U);
    EXPECT_EQ(LeafShelf::PlaceOf(half.RowsNow()[0][8]).neighbour, id);
    socket_.reset();
    while (!half.RowsNow().empty()) std::this_thread::yield();
    Advance(Neighbours::kLookEvery);
  }
  AskInVain(half);
  EXPECT_FALSE(net::AcceptWaiting(listener_.get()).valid());
}

TEST_F(LateNeighbour, ADeskThatIsFullRefusesWhoComesAndServesThoseThatAreThere) {
  TestHalf& half = Add("w1");
  const auto connect = [&] {
    auto socket = net::ConnectToUser(folder_ + "/w1.leaves");
    EXPECT_TRUE(socket.ok());
    return std::move(socket).value();
  };
  const auto is_served = [&](const UniqueFd& socket) {
    const NeighbourAsk ask{.request = 1};
    if (!net::SendPacketTo(socket.get(), PacketOf(ground_, ask)).ok()) return false;
    Await(socket);
    NeighbourPacket packet;
    return net::TakePacket(socket.get(), packet).event == net::TakenPacket::Event::kPacket;
  };
  std::vector<UniqueFd> sockets;
  for (std::size_t i = 0; i < NeighbourDesk::kMostConnections; ++i) sockets.push_back(connect());
  EXPECT_FALSE(is_served(connect()));
  for (const UniqueFd& socket : sockets) EXPECT_TRUE(is_served(socket));
  sockets.pop_back();
  std::size_t left = NeighbourDesk::kMostConnections;
  while (left == NeighbourDesk::kMostConnections) {
    RunOn(*reactor_, [&] { left = half.desk->connections(); });
  }
  EXPECT_TRUE(is_served(connect()));
}

}  // namespace
}  // namespace headrace::dataworker::neighbour_tests
