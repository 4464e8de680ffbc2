// What a neighbour says is checked before it is believed, whoever plays it, and whatever becomes of it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <thread>

#include "dataworker/session/played_neighbour_fixture.h"

namespace headrace::dataworker::neighbour_tests {
namespace {

TEST_F(PlayedNeighbour, ADamagedIndexIsRefusedAndItsWorkerLeftAlone) {
  const NeighbourTold here{.how = How::kHere, .version = 1, .size = sizeof(LeafShelf::FullRow)};
  const auto with = [&](auto change) {
    NeighbourTold told = here;
    change(told);
    return told;
  };
  const UniqueFd sound = SealedRows({RowAt(5, 1)});
  EXPECT_TRUE(IsRefused(with([](auto& told) { told.size *= 2; }), sound));
  EXPECT_TRUE(IsRefused(with([](auto& told) { told.version = 0; }), sound));
  EXPECT_TRUE(IsRefused(with([](auto& told) { told.how = How::kSame; }), sound));
  EXPECT_TRUE(IsRefused(with([](auto& told) { told.how = How::kNothing; }), sound));
  EXPECT_TRUE(IsRefused(here, SealedRows({RowAt(5, std::uint64_t{1} << 48)})));
  const UniqueFd open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open.get(), sizeof(LeafShelf::FullRow)), 0);
  EXPECT_TRUE(IsRefused(here, open)) << "it could be cut, or changed";
  auto odd = MemoryFile("odd", Bytes(100));
  EXPECT_TRUE(IsRefused(with([](auto& told) { told.size = 100; }), *odd));
}

TEST_F(PlayedNeighbour, OneOfAnotherReleaseIsRefusedAndAskedAgainMuchLater) {
  TestHalf& half = Add("w1");
  auto asked = half.Ask();
  Accept();
  NeighbourPacket packet =
      PacketOf(ground_, NeighbourTold{.how = How::kHere, .request = Hear().request, .version = 1});
  packet[4] ^= std::byte{2};
  ASSERT_TRUE(net::SendPacketTo(socket_.get(), packet).ok());
  asked->wait();
  EXPECT_TRUE(IsHungUpOn());
  Advance(Neighbours::kLeftAlone - Duration(1));
  half.Ask()->wait();
  EXPECT_FALSE(net::AcceptWaiting(listener_.get()).valid()) << "too early";
  Advance(Neighbours::kLookEvery);
  asked = half.Ask();
  Accept();
  const std::uint64_t request = Hear().request;
  Say({.how = How::kHere, .request = request, .version = 1, .size = sizeof(LeafShelf::FullRow)},
      SealedRows({RowAt(5, 1)}));
  asked->wait();
  EXPECT_EQ(half.RowsNow().size(), 1U);
}

TEST_F(PlayedNeighbour, ASegmentThatCouldEndALaneIsNotGiven) {
  const UniqueFd open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open.get(), 4096), 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd pipe(ends[0]), other(ends[1]);
  struct Case {
    std::uint64_t segment;
    const UniqueFd& descriptor;
  };
  for (const Case& each : {Case{1, open}, Case{1, pipe}, Case{LeafShelf::kOfFile | 1, pipe}}) {
    TestHalf& half = Add("w1");
    const auto asked = half.Ask();
    Accept();
    std::uint64_t request = Hear().request;
    Say({.how = How::kHere, .request = request, .version = 1, .size = sizeof(LeafShelf::FullRow)},
        SealedRows({RowAt(5, each.segment)}));
    asked->wait();
    ASSERT_EQ(half.RowsNow().size(), 1U);
    const std::uint64_t number = half.RowsNow()[0][8];
    std::thread answering([&] {
      request = Hear().request;
      Say({.how = How::kHere, .request = request, .size = 4096}, each.descriptor);
    });
    EXPECT_EQ(half.Segment(number).status().code(), Code::kInvalidArgument);
    answering.join();
    EXPECT_TRUE(half.RowsNow().empty());
    End(half);
  }
}

// Which lanes read by themselves.
TEST_F(PlayedNeighbour, AFileIsPassedOn) {
  const UniqueFd file(::open((folder_ + "/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "content", 7), 7);
  TestHalf& half = Add("w1");
  const auto asked = half.Ask();
  Accept();
  std::uint64_t request = Hear().request;
  Say({.how = How::kHere, .request = request, .version = 1, .size = sizeof(LeafShelf::FullRow)},
      SealedRows({RowAt(5, LeafShelf::kOfFile | 3)}));
  asked->wait();
  ASSERT_EQ(half.RowsNow().size(), 1U);
  const std::uint64_t number = half.RowsNow()[0][8];
  EXPECT_NE(number & LeafShelf::kOfFile, 0U) << "as lanes know files";
  std::uint64_t asked_for = 0;
  std::thread answering([&] {
    const NeighbourAsk ask = Hear();
    asked_for = ask.number;
    Say({.how = How::kHere, .request = ask.request, .size = 7}, file);
  });
  const auto segment = half.Segment(number);
  answering.join();
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(asked_for, LeafShelf::kOfFile | 3) << "by its own number";
  EXPECT_EQ(ReadAll(segment->descriptor, 7), CopyBytes(AsBytes("content")));
}

TEST_F(PlayedNeighbour, WhatLanesHaveOfOneThatIsKilledStaysAndItIsForgotten) {
  const pid_t child = ::fork();
  if (child == 0) {  // the neighbour, which calls nothing that another thread may hold
    pollfd event{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    ::poll(&event, 1, 60'000);
    const UniqueFd socket = net::AcceptWaiting(listener_.get());
    const auto content = MemoryFile("segment", Pixels(4096, 9));
    const UniqueFd rows = SealedRows({RowAt(5, 1)});
    while (true) {
      event.fd = socket.get();
      ::poll(&event, 1, 60'000);
      NeighbourPacket packet;
      if (net::TakePacket(socket.get(), packet).event != net::TakenPacket::Event::kPacket) break;
      const NeighbourAsk ask = *ReadNeighbourAsk(ground_, packet);
      const bool index = ask.what == NeighbourAsk::What::kIndex;
      const NeighbourTold told{.how = How::kHere,
                               .request = ask.request,
                               .version = 1,
                               .size = index ? sizeof(LeafShelf::FullRow) : 4096};
      (void)net::SendPacketTo(socket.get(), PacketOf(ground_, told),
                              index ? rows.get() : content->get());
    }
    ::_exit(0);
  }
  listener_.reset();
  TestHalf& half = Add("w1");
  const auto rows = half.Rows();
  ASSERT_EQ(rows.size(), 1U);
  auto segment = half.Segment(rows[0][8]);
  ASSERT_TRUE(segment.ok());
  const void* const mapped =
      ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, segment->descriptor.get(), 0);
  segment->descriptor.reset();
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(half.Rows().empty());
  EXPECT_EQ(half.Segment(rows[0][8]).status().code(), Code::kNotFound);
  const ByteSpan there(static_cast<const std::byte*>(mapped), 4096);
  EXPECT_TRUE(std::ranges::equal(there, Pixels(4096, 9)));
  ::munmap(const_cast<void*>(mapped), 4096);
}

// Another user who comes there all the same, because the folder's mode has changed.
class AnotherUser : public PlayedNeighbour {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  }
  // Runs `task` on a thread that has become another user, which Linux keeps for each thread.
  template <typename Task>
  static void AsAnother(Task task) {
    constexpr uid_t kNobody = 65534;
    std::thread([&] {
      ASSERT_EQ(::syscall(SYS_setresuid, -1, kNobody, -1), 0);
      task();
    }).join();
  }
};

TEST_F(AnotherUser, IsToldNothing) {
  TestHalf& half = Add("w1");
  half.Keep({5});
  const std::string path = folder_ + "/w1.leaves";
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  socket_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  AsAnother([&] {
    ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  });
  (void)net::SendPacketTo(socket_.get(), PacketOf(ground_, NeighbourAsk{.request = 1}));
  EXPECT_TRUE(IsHungUpOn());
}

TEST_F(AnotherUser, IsAskedNothing) {
  ::unlink((folder_ + "/w7.leaves").c_str());
  AsAnother([&] {
    auto listener = net::ListenForUser(folder_ + "/w8.leaves");
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
  });
  ASSERT_EQ(::chmod((folder_ + "/w8.leaves").c_str(), 0666), 0);
  TestHalf& half = Add("w1");
  EXPECT_TRUE(half.Rows().empty());
  Accept();
  EXPECT_TRUE(IsHungUpOn()) << "and no question came before that";
}

}  // namespace
}  // namespace headrace::dataworker::neighbour_tests
