// What must hold of every reactor (net/reactor_test.cc), and what the simulated network does beyond it.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/sim_reactor.h"

namespace headrace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kEndpoint = "tcp://server:1";

class SimNetworkTest : public ::testing::Test {
 protected:
  SimNetworkTest() { Bind(); }
  ~SimNetworkTest() override { events_.Clear(); }

  std::unique_ptr<SimReactor> Make(const std::string& host) {
    return std::make_unique<SimReactor>(network_, descriptors_,
                                        std::make_shared<SimProcess>(host, host, ++processes_));
  }
  void Bind(const std::string& endpoint = kEndpoint) {
    server_ = Make("server");
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& message) {
      if (const auto* ping = std::get_if<wire::Ping>(&message.body)) {
        pings_.push_back(ping->sequence);
      }
      peer_ = message.peer;
      last_ = std::move(message);
    };
    router_ = *server_->BindRouter(endpoint, std::move(events));
  }
  void Connect(const std::string& endpoint = kEndpoint) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& message) {
      pongs_.push_back(std::get<wire::Pong>(message.body).sequence);
    };
    events.on_disconnected = [this] { ended_.push_back(pongs_.size()); };
    dealer_ = *client_->ConnectDealer(endpoint, std::move(events));
  }
  Status Ping(std::uint64_t sequence) { return dealer_->Send({}, wire::Ping{sequence}); }
  void RunFor(Duration time) {
    const SteadyTime until = events_.Now() + time;
    while (events_.RunNext(until)) {
    }
  }
  void KillServer(Death how) {
    server_->Kill(how);
    router_.reset();
  }

  EventQueue events_;
  SimNetwork network_{events_, Dice(7)};
  SimDescriptors descriptors_{events_, Dice(8)};
  std::uint64_t processes_ = 0;
  std::unique_ptr<SimReactor> server_;
  std::unique_ptr<net::Socket> router_;
  std::unique_ptr<SimReactor> client_ = Make("client");
  std::unique_ptr<net::Socket> dealer_;
  std::vector<std::uint64_t> pings_, pongs_;
  std::vector<std::size_t> ended_;  // pongs that had come when the connection ended
  std::string peer_;
  net::Incoming last_;
};

TEST_F(SimNetworkTest, MessagesComeInOrderBothWays) {
  Connect();
  std::vector<std::uint64_t> all(300);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    all[i] = i;
    ASSERT_TRUE(Ping(i).ok());
  }
  RunFor(seconds(1));
  EXPECT_EQ(pings_, all);
  EXPECT_FALSE(last_.from_this_user);
  for (const std::uint64_t i : all) ASSERT_TRUE(router_->Send(peer_, wire::Pong{i}).ok());
  RunFor(seconds(1));
  EXPECT_EQ(pongs_, all);
  EXPECT_EQ(network_.bytes_under_way(), 0U);
}

TEST_F(SimNetworkTest, UnknownPeerIsNotFound) {
  EXPECT_EQ(router_->Send("nobody", wire::Ping{}).code(), Code::kNotFound);
}

TEST_F(SimNetworkTest, AnAddressHasOneServer) {
  const auto other = Make("other");
  EXPECT_EQ(other->BindRouter(kEndpoint, {}).status().code(), Code::kUnavailable);
  EXPECT_EQ(other->BindRouter("nothing", {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(other->ConnectDealer("nothing", {}).status().code(), Code::kInvalidArgument);
}

TEST_F(SimNetworkTest, DealerHoldsALimitedQueueForAPeerThatIsNotThere) {
  Connect("tcp://nobody:1");
  auto chunk = std::make_shared<Bytes>(std::size_t{16} << 20);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(dealer_->Send({}, wire::BlobPart{}, {{.data = *chunk, .owner = chunk}}).ok(), i < 3)
        << i;
  }
  EXPECT_EQ(chunk.use_count(), 4);
  int taken = 0;
  while (Ping(0).ok()) ++taken;
  EXPECT_EQ(taken + 3, 1000);
}

TEST_F(SimNetworkTest, APayloadIsReadWhenItArrives) {
  Connect();
  const auto bytes = std::make_shared<Bytes>(100);
  ASSERT_TRUE(dealer_->Send({}, wire::BlobPart{}, {{.data = *bytes, .owner = bytes}}).ok());
  (*bytes)[5] = std::byte{7};  // whoever does this has a bug, and shall see it
  RunFor(seconds(1));
  ASSERT_THAT(last_.payload, SizeIs(1));
  EXPECT_EQ(last_.payload[0][5], std::byte{7});
  EXPECT_EQ(bytes.use_count(), 1);
}

TEST_F(SimNetworkTest, DealerComesBackToARestartedPeerAsAnother) {
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  const std::string before = peer_;
  KillServer(Death::kProcess);
  RunFor(seconds(1));
  EXPECT_THAT(ended_, ElementsAre(0));
  ASSERT_TRUE(Ping(2).ok());  // it waits
  Bind();
  RunFor(seconds(3));
  EXPECT_THAT(pings_, ElementsAre(1, 2));
  EXPECT_NE(peer_, before);
  EXPECT_EQ(router_->Send(before, wire::Pong{}).code(), Code::kNotFound);
}

TEST_F(SimNetworkTest, WhatWasSentOnAConnectionThatEndedIsLost) {
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  KillServer(Death::kProcess);
  ASSERT_TRUE(Ping(2).ok());  // the client does not know yet
  Bind();
  RunFor(seconds(3));
  EXPECT_THAT(pings_, ElementsAre(1));
}

TEST_F(SimNetworkTest, AnEndFollowsTheMessagesThatCame) {
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(router_->Send(peer_, wire::Pong{i}).ok());
  router_.reset();  // a close, which lingers
  RunFor(seconds(1));
  EXPECT_THAT(pongs_, SizeIs(20));
  EXPECT_THAT(ended_, ElementsAre(20));
}

TEST_F(SimNetworkTest, AUnixSocketKnowsItsUser) {
  KillServer(Death::kProcess);
  Bind("ipc:///server");
  Connect("ipc:///server");
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  EXPECT_TRUE(last_.from_this_user);
  KillServer(Death::kProcess);
  RunFor(seconds(1));
  EXPECT_THAT(ended_, SizeIs(1));
}

TEST_F(SimNetworkTest, ASilentHostIsMissedLater) {
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(milliseconds(500));
  KillServer(Death::kHost);
  RunFor(milliseconds(900));
  EXPECT_THAT(ended_, IsEmpty());
  RunFor(seconds(30));
  EXPECT_THAT(ended_, SizeIs(1));
}

TEST_F(SimNetworkTest, ACutStopsOneDirection) {
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  network_.Cut("server", "client");
  ASSERT_TRUE(Ping(2).ok());
  ASSERT_TRUE(router_->Send(peer_, wire::Pong{3}).ok());
  RunFor(seconds(1));
  EXPECT_THAT(pings_, ElementsAre(1, 2));
  EXPECT_THAT(pongs_, IsEmpty());
  EXPECT_GT(network_.bytes_under_way(), 0U);
  network_.Heal();
  RunFor(seconds(3));
  // It came, or its connection did not survive.
  EXPECT_EQ(pongs_.size() + ended_.size(), 1U);
  EXPECT_EQ(network_.bytes_under_way(), 0U);
}

TEST_F(SimNetworkTest, ABrokenConnectionIsMadeAgain) {
  EXPECT_FALSE(network_.BreakOne());
  Connect();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(1));
  const std::string before = peer_;
  EXPECT_TRUE(network_.BreakOne());
  RunFor(seconds(1));
  EXPECT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(router_->Send(before, wire::Pong{}).code(), Code::kNotFound);
  ASSERT_TRUE(Ping(2).ok());
  RunFor(seconds(1));
  EXPECT_THAT(pings_, ElementsAre(1, 2));
}

TEST_F(SimNetworkTest, ABadNetworkLosesDoublesAndReorders) {
  Connect();
  RunFor(seconds(1));
  network_.SetRates({.drop = 0.1, .duplicate = 0.2, .delay = 0.2, .reorder = 0.2});
  for (std::uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(Ping(i).ok());
  RunFor(seconds(1));
  const std::set<std::uint64_t> different(pings_.begin(), pings_.end());
  EXPECT_LT(different.size(), 480U);
  EXPECT_GT(different.size(), 420U);
  EXPECT_GT(pings_.size(), different.size() + 60);
  EXPECT_FALSE(std::ranges::is_sorted(pings_));
  EXPECT_EQ(network_.bytes_under_way(), 0U);
}

TEST_F(SimNetworkTest, AStoppedProcessGetsItsMessagesLater) {
  Connect();
  server_->process()->Stop();
  ASSERT_TRUE(Ping(1).ok());
  RunFor(seconds(9));
  EXPECT_THAT(pings_, IsEmpty());
  server_->process()->Continue();
  EXPECT_THAT(pings_, ElementsAre(1));
}

TEST_F(SimNetworkTest, SocketMayGoInItsOwnCallback) {
  net::SocketEvents events;
  std::unique_ptr<net::Socket> socket;
  bool gone = false;
  events.on_message = [&](net::Incoming&&) {
    socket.reset();
    gone = true;
  };
  socket = *client_->ConnectDealer(kEndpoint, std::move(events));
  ASSERT_TRUE(socket->Send({}, wire::Ping{1}).ok());
  RunFor(seconds(1));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(router_->Send(peer_, wire::Pong{}).ok());
  RunFor(seconds(1));
  EXPECT_TRUE(gone);
  EXPECT_EQ(router_->Send(peer_, wire::Pong{}).code(), Code::kNotFound);
}

TEST_F(SimNetworkTest, TimersFollowTheClock) {
  std::vector<std::string> ran;
  const SteadyTime start = events_.Now();
  const auto at = [&](const std::string& what) {
    ran.push_back(what + std::to_string((events_.Now() - start) / seconds(1)));
  };
  net::TimerId every = 0;
  every = client_->AddTimer(seconds(2), [&] {
    at("every ");
    if (ran.size() > 4) client_->CancelTimer(every);
  });
  client_->AddOnce(seconds(3), [&] { at("once "); });
  client_->CancelTimer(client_->AddOnce(seconds(3), [&] { at("never "); }));
  client_->Post([&] { at("post "); });
  RunFor(seconds(60));
  EXPECT_THAT(ran, ElementsAre("post 0", "every 2", "once 3", "every 4", "every 6"));
}

TEST_F(SimNetworkTest, NothingHappensInADeadProcess) {
  Connect();
  int ran = 0;
  client_->AddTimer(seconds(1), [&] { ++ran; });
  client_->Post([&] { ++ran; });
  client_->Kill(Death::kProcess);
  client_->Post([&] { ++ran; });
  client_->AddOnce(seconds(1), [&] { ++ran; });
  EXPECT_EQ(Ping(1).code(), Code::kUnavailable);
  RunFor(seconds(10));
  EXPECT_EQ(ran, 0);
}

TEST_F(SimNetworkTest, ATrainerSeesTheHangUpWhenNobodyHoldsTheConnection) {
  const auto trainer = Make("server");
  net::DescriptorNetwork& of_worker = *server_->descriptors();
  std::vector<std::uint64_t> descriptors, hung_up;
  auto listener = *of_worker.Listen(
      "/arena",
      [&](std::uint64_t connection, const net::DescriptorMessage& message, UniqueFd fd) {
        EXPECT_TRUE(fd.valid());
        EXPECT_EQ(message.bytes, 5U);
        descriptors.push_back(connection);
      },
      [&](std::uint64_t connection) { hung_up.push_back(connection); });
  EXPECT_EQ(of_worker.Listen("/arena", {}, {}).status().code(), Code::kUnavailable);
  // Another host does not have the path.
  EXPECT_EQ(client_->descriptors()->Connect("/arena", {}).status().code(), Code::kUnavailable);
  int ends = 0;
  auto connection = *trainer->descriptors()->Connect("/arena", [&] { ++ends; });
  net::DescriptorMessage message;
  message.bytes = 5;
  ASSERT_TRUE(connection->Send(message, STDIN_FILENO).ok());
  RunFor(seconds(1));
  ASSERT_THAT(descriptors, SizeIs(1));
  UniqueFd held = *listener->Hold(descriptors[0]);
  connection->Finish();
  RunFor(seconds(1));
  EXPECT_EQ(hung_up, descriptors);
  EXPECT_EQ(ends, 0);
  held.reset();
  RunFor(seconds(1));
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(connection->Send(message, STDIN_FILENO).code(), Code::kUnavailable);
}

TEST_F(SimNetworkTest, ADeadWorkerHangsUp) {
  const auto trainer = Make("server");
  auto listener = *server_->descriptors()->Listen("/arena", {}, {});
  int ends = 0;
  const auto connection = *trainer->descriptors()->Connect("/arena", [&] { ++ends; });
  KillServer(Death::kProcess);
  listener.reset();
  RunFor(seconds(1));
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace headrace::simulation
