// The gate between the kernel and ZeroMQ, with real sockets.
#include "net/intake.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/process/stats.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/intake_gate.h"
#include "net/reactor.h"
#include "net/test_util.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kGreeting =
    std::string("\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL", 16) + std::string(48, '\0');
const std::string kReady = std::string(
    "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
    "DEALER",
    30);

// A server that counts what it hears, and peers that are no peers of ours.
class IntakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OpenIntakeGate();
    server_ = std::move(Reactor::Make("server")).value();
    SocketEvents events;
    events.on_message = [this](Incoming&& message) {
      if (router_->Send(message.peer, wire::Pong{}).ok()) ++answered_;
    };
    events.on_invalid = [this](const std::string&, const Status&) { ++refused_; };
    router_ = std::move(server_->BindRouter("tcp://127.0.0.1:0", std::move(events))).value();
    ASSERT_TRUE(server_->Start().ok());
  }
  void TearDown() override {
    testing::RunOn(*server_, [this] { router_.reset(); });
    server_->Stop();
    Intake::Process().Close();
  }

  [[nodiscard]] UniqueFd Connect() const { return ConnectTo(router_->endpoint()); }
  [[nodiscard]] static UniqueFd ConnectTo(const std::string& endpoint) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  // A peer that has shaken hands, and may send messages.
  [[nodiscard]] UniqueFd Shaken() const { return ShakenWith(router_->endpoint()); }
  [[nodiscard]] static UniqueFd ShakenWith(const std::string& endpoint) {
    UniqueFd fd = ConnectTo(endpoint);
    Write(fd, kGreeting + kReady);
    std::array<char, 256> answer{};
    const auto read = [&](std::size_t bytes) {
      return ::recv(fd.get(), answer.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
    };
    EXPECT_TRUE(read(kGreeting.size()) && read(2));
    EXPECT_TRUE(read(static_cast<std::uint8_t>(answer[1])));
    return fd;
  }
  // Writes until the other side hangs up. Returns the bytes that went.
  static std::size_t WriteUntilCut(const UniqueFd& fd, const std::string& text, std::size_t most) {
    std::size_t went = 0;
    while (went < most) {
      const ssize_t now = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (now <= 0) break;
      went += static_cast<std::size_t>(now);
    }
    return went;
  }
  static void Write(const UniqueFd& fd, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t went = ::send(fd.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
      ASSERT_GT(went, 0);
      at += static_cast<std::size_t>(went);
    }
  }
  // Whether the server has closed the connection, or does within the patience of a test.
  static bool Cut(const UniqueFd& fd) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    std::array<char, 4096> data{};
    for (;;) {
      const ssize_t got = ::recv(fd.get(), data.data(), data.size(), 0);
      if (got == 0) return true;
      if (got < 0) return errno == ECONNRESET;
    }
  }
  // Whether the server has closed the connection before it said anything.
  static bool TurnedAway(const UniqueFd& fd) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char first = 0;
    const ssize_t got = ::recv(fd.get(), &first, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  // Whether a peer of ours is answered.
  [[nodiscard]] bool Serves() const { return Serves(router_->endpoint()); }
  [[nodiscard]] static bool Serves(const std::string& endpoint) {
    const auto client = std::move(Reactor::Make("client")).value();
    std::promise<void> answer;
    SocketEvents events;
    events.on_message = [&answer, told = false](Incoming&&) mutable {
      if (!std::exchange(told, true)) answer.set_value();
    };
    auto dealer = std::move(client->ConnectDealer(endpoint, std::move(events))).value();
    EXPECT_TRUE(dealer->Send("", wire::Ping{}).ok());
    EXPECT_TRUE(client->Start().ok());
    const bool came = answer.get_future().wait_for(seconds(20)) == std::future_status::ready;
    testing::RunOn(*client, [&] { dealer.reset(); });
    client->Stop();
    return came;
  }

  std::unique_ptr<Reactor> server_;
  std::unique_ptr<Socket> router_;
  std::atomic<int> answered_{0};
  std::atomic<int> refused_{0};
};

std::string LongFrame(std::size_t size) {
  std::string frame("\x03\0\0\0\0", 5);  // more, long
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(size >> shift);
  return frame + std::string(size, 'x');
}

TEST_F(IntakeTest, AMessageWithoutEndCostsABoundedAmount) {
  const std::uint64_t before = ResidentBytes();
  const UniqueFd peer = Shaken();
  const std::size_t went = WriteUntilCut(peer, LongFrame(8 << 20), std::size_t{4} << 30);
  EXPECT_LT(went, std::size_t{400} << 20);
  EXPECT_LT(ResidentBytes(), before + (std::uint64_t{300} << 20));
  EXPECT_TRUE(Serves());
}

TEST_F(IntakeTest, FramesWithoutBytesAreCutSoonToo) {
  const UniqueFd peer = Shaken();
  std::string frames;
  for (int i = 0; i < 2048; ++i) frames += std::string("\x01\0", 2);
  EXPECT_LT(WriteUntilCut(peer, frames, 64 << 20), std::size_t{32} << 20);
  EXPECT_TRUE(Serves());
}

// 4,000 messages, of which none is ever due for being cut.
TEST_F(IntakeTest, ThousandsOfMessagesAreServedOnOneConnection) {
  const auto client = std::move(Reactor::Make("client")).value();
  std::promise<void> all;
  int answers = 0;
  bool ended = false;
  SocketEvents events;
  events.on_message = [&](Incoming&&) {
    if (++answers == 4000) all.set_value();
  };
  events.on_disconnected = [&] { ended = true; };
  auto dealer = std::move(client->ConnectDealer(router_->endpoint(), std::move(events))).value();
  ASSERT_TRUE(client->Start().ok());
  for (int round = 0; round < 40; ++round) {
    testing::RunOn(*client, [&] {
      for (int i = 0; i < 100; ++i) (void)dealer->Send("", wire::Ping{});
    });
    while (answered_ < (round + 1) * 100) std::this_thread::yield();
  }
  EXPECT_EQ(all.get_future().wait_for(seconds(20)), std::future_status::ready);
  EXPECT_FALSE(ended);
  EXPECT_EQ(Intake::Process().held(), 0U) << "all of it was handed on";
  testing::RunOn(*client, [&] { dealer.reset(); });
  client->Stop();
}

TEST_F(IntakeTest, OverTheLimitOfAllTheLargestIsCut) {
  Intake::Process().Open({.bytes = 64 << 20, .frames = 1024, .total_bytes = 40 << 20});
  const UniqueFd small = Shaken();
  Write(small, LongFrame(1000));
  const UniqueFd large = Shaken();
  Write(large, LongFrame(30 << 20));
  const UniqueFd third = Shaken();
  Write(third, LongFrame(12 << 20));
  EXPECT_TRUE(Cut(large));
  EXPECT_TRUE(Serves());
  EXPECT_LT(Intake::Process().held(), std::uint64_t{16} << 20);
  EXPECT_GT(Intake::Process().held(), std::uint64_t{12} << 20) << "the others are as they were";
}

TEST_F(IntakeTest, ASmallConnectionIsNotCutBecauseOfTheOthers) {
  Intake::Process().Open({.bytes = 64 << 20, .frames = 1024, .total_bytes = 1 << 20});
  std::vector<UniqueFd> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(Shaken());
    Write(peers.back(), LongFrame(600'000));
  }
  const auto until = Clock::Real().Now() + seconds(20);
  while (Intake::Process().held() < 2'400'000 && Clock::Real().Now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(Intake::Process().held(), 2'400'000U);
}

TEST_F(IntakeTest, LegalFramesFitWhateverTheMemoryIs) {
  constexpr std::uint64_t kTwoFrames = std::uint64_t{128} << 20;
  for (const std::uint64_t memory : {std::uint64_t{1}, std::uint64_t{64} << 20}) {
    EXPECT_GT(Intake::LimitsFor(memory).bytes, kTwoFrames);
    EXPECT_GE(Intake::LimitsFor(memory).total_bytes, Intake::LimitsFor(memory).bytes);
  }
  EXPECT_EQ(Intake::LimitsFor(std::uint64_t{2} << 30).total_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(Intake::LimitsFor(0).total_bytes, std::uint64_t{1} << 30);
}

TEST_F(IntakeTest, WithoutACookieAConnectionIsNotWatched) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // has none
  EXPECT_TRUE(Intake::Process().Accepted(file.get(), -1));
  EXPECT_TRUE(Intake::Process().Admit(file.get(), AsBytes("GET / HTTP/1.1")));
}

TEST_F(IntakeTest, AStrangersProtocolIsCutAtItsFirstBytes) {
  const UniqueFd peer = Connect();
  Write(peer, "GET / HTTP/1.1\r\nHost: head\r\n\r\n");
  EXPECT_TRUE(Cut(peer));
}

TEST_F(IntakeTest, AHandshakeThatNeverComesEnds) {
  const UniqueFd silent = Connect();
  const UniqueFd half = Connect();
  Write(half, kGreeting.substr(0, 20));
  EXPECT_TRUE(Cut(silent));
  EXPECT_TRUE(Cut(half));
}

TEST_F(IntakeTest, TheLastDescriptorsAreOurOwn) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = ::dup(0);
  ::close(lowest);
  const auto limit = static_cast<rlim_t>(lowest + 60);
  const rlimit few{.rlim_cur = limit, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    std::vector<UniqueFd> files;
    const auto fill_to = [&](int last) {
      while (files.empty() || files.back().get() < last) {
        files.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        ASSERT_TRUE(files.back().valid());
      }
    };
    // The next is a peer's own end, and the one after it the server's: the fourth from the end.
    fill_to(static_cast<int>(limit) - 6);
    EXPECT_TRUE(TurnedAway(Connect()));
    // With none left at all.
    fill_to(static_cast<int>(limit) - 2);
    EXPECT_TRUE(TurnedAway(Connect()));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(Serves());
}

// A peer that does not read gets no more than the bound of all; one that reads is answered.
TEST_F(IntakeTest, PeersThatDoNotReadKeepNobodyFromBeingAnswered) {
  constexpr std::size_t kMost = 4 << 20;
  SocketEvents events;
  std::unique_ptr<Socket> other;
  std::vector<Status> told;
  wire::ClusterStatus large;
  large.status = InvalidArgument(std::string(1 << 20, 'x'));
  events.most_unsent_bytes = kMost;
  events.on_message = [&](Incoming&& message) { told.push_back(other->Send(message.peer, large)); };
  const auto server = std::move(Reactor::Make("bounded")).value();
  other = std::move(server->BindRouter("tcp://127.0.0.1:0", std::move(events))).value();
  ASSERT_TRUE(server->Start().ok());
  const UniqueFd deaf = ShakenWith(other->endpoint());
  const int little = 4096;
  ::setsockopt(deaf.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
  const wire::EncodedMessage ping = wire::Encode(wire::Ping{});
  std::string question = std::string("\x01\x08", 2) + std::string(AsText(ping.header));
  question += '\0';
  question += static_cast<char>(ping.body.size());
  question += AsText(ping.body);
  for (int i = 0; i < 60; ++i) Write(deaf, question);
  std::size_t refused = 0;
  for (const auto until = Clock::Real().Now() + seconds(20); Clock::Real().Now() < until;) {
    bool all = false;
    testing::RunOn(*server, [&] {
      all = told.size() == 60;
      refused = static_cast<std::size_t>(
          std::ranges::count_if(told, [](const Status& each) { return !each.ok(); }));
    });
    if (all) break;
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(refused, 30U);
  EXPECT_TRUE(Serves(other->endpoint()));
  testing::RunOn(*server, [&] { other.reset(); });
  server->Stop();
}

}  // namespace
}  // namespace headrace::net
