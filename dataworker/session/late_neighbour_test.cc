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
  EXPECT_EQ(half.RowsNow(), rows) << "once may be chance";
  auto third = half.AskSegment(rows[2][8]);
  (void)Hear();
  Advance(Neighbours::kPatience);
  EXPECT_EQ(third.get().status().code(), Code::kNotFound);
  EXPECT_TRUE(half.RowsNow().empty());
  auto fourth = half.AskSegment(rows[2][8]);
  ASSERT_TRUE(IsReady(fourth));
  EXPECT_EQ(fourth.get().status().code(), Code::kNotFound);
  const auto asked = half.Ask();
  const NeighbourAsk next = Hear();
  EXPECT_EQ(next.what, NeighbourAsk::What::kIndex) << "and was asked no fourth time";
  Say({.how = How::kSame, .request = next.request, .version = 1});
  asked->wait();
  EXPECT_EQ(half.RowsNow(), rows) << "it is back";
}

TEST_F(LateNeighbour, ASegmentInTimeEndsTheRowOfSilences) {
  TestHalf& half = AddThatKnows({RowAt(1, 1)});
  const auto rows = half.RowsNow();
  for (int i = 0; i < 3; ++i) {
    auto silent = half.AskSegment(rows[0][8]);
    (void)Hear();
    Advance(Neighbours::kPatience);
    EXPECT_EQ(silent.get().status().code(), Code::kNotFound);
    EXPECT_EQ(half.RowsNow(), rows);
    auto answered = half.AskSegment(rows[0][8]);
    Say({.how = How::kNothing, .request = Hear().request});
    EXPECT_EQ(answered.get().status().code(), Code::kNotFound);
  }
}

// It answers nothing while it makes a large index.
TEST_F(LateNeighbour, SegmentsThatAreAskedForWhileItMakesAnIndexDoNotMakeItGone) {
  TestHalf& half = AddThatKnows({RowAt(1, 1)});
  const auto rows = half.RowsNow();
  const auto asked = half.Ask();
  const NeighbourAsk index = Hear();
  for (int i = 0; i < 2; ++i) {
    auto segment = half.AskSegment(rows[0][8]);
    (void)Hear();
    Advance(Neighbours::kPatience);
    EXPECT_EQ(segment.get().status().code(), Code::kNotFound);
    EXPECT_EQ(half.RowsNow(), rows);
  }
  asked->wait();
  SayRowsTo(index.request, {RowAt(1, 1), RowAt(2, 2)}, 2);
  while (half.RowsNow().size() < 2) std::this_thread::yield();
}

TEST_F(LateNeighbour, OneThatHasTooMuchToReadStays) {
  TestHalf& half = AddThatKnows({RowAt(1, 1)});
  const auto rows = half.RowsNow();
  std::vector<std::future<Result<Neighbours::File>>> open;
  do {
    open.push_back(half.AskSegment(rows[0][8]));
  } while (!IsReady(open.back()));
  EXPECT_EQ(open.back().get().status().code(), Code::kNotFound);
  EXPECT_FALSE(IsReady(open.front()));
  EXPECT_EQ(half.RowsNow(), rows);
  half.Ask()->wait();  // inside: it is not asked now
  EXPECT_EQ(half.RowsNow(), rows);
  const auto content = MemoryFile("segment", Pixels(4096, 9));
  Say({.how = How::kHere, .request = Hear().request, .size = 4096}, *content);
  EXPECT_TRUE(open.front().get().ok());
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

TEST_F(LateNeighbour, ADeskDropsSegmentsThatAreNotReadAndServesOn) {
  Add("w1");
  auto socket = net::ConnectToUser(folder_ + "/w1.leaves");
  ASSERT_TRUE(socket.ok());
  const auto ask_once = [&](NeighbourAsk::What what, std::uint64_t request) {
    const NeighbourAsk ask{.what = what, .request = request, .number = 1};
    return net::SendPacketTo(socket->get(), PacketOf(ground_, ask));
  };
  const auto ask = [&](NeighbourAsk::What what, std::uint64_t request) {
    Status sent = ask_once(what, request);
    while (sent.code() == Code::kResourceExhausted) {  // the desk is about to read
      std::this_thread::yield();
      sent = ask_once(what, request);
    }
    return sent.ok();
  };
  constexpr std::uint64_t kMore = 4000;  // than fit, on the way there and back
  for (std::uint64_t request = 1; request <= kMore; ++request) {
    ASSERT_TRUE(ask(NeighbourAsk::What::kSegment, request));
  }
  std::uint64_t answers = 0;
  for (bool served = false; !served;) {
    ASSERT_TRUE(ask(NeighbourAsk::What::kSegment, kMore + 1));  // of which some may be dropped, too
    NeighbourPacket packet;
    const net::TakenPacket taken = net::TakePacket(socket->get(), packet);
    ASSERT_NE(taken.event, net::TakenPacket::Event::kHangup);
    if (taken.event == net::TakenPacket::Event::kNothing) continue;
    ++answers;
    served = ReadNeighbourTold(ground_, packet)->request == kMore + 1;
  }
  EXPECT_LE(answers, kMore) << "nothing was dropped";
  // An answer about the index is awaited without end.
  std::uint64_t request = kMore + 1;
  while (ask(NeighbourAsk::What::kIndex, ++request)) ASSERT_LT(request, 3 * kMore);
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
