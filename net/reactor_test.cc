#include "net/reactor.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <numeric>

#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Reactor> MakeReactor(std::shared_ptr<Context> context = nullptr) {
  return std::move(Reactor::Make("test", Clock::Real(), std::move(context))).value();
}

// Runs `task` on the reactor and waits for it.
template <typename Task>
auto OnReactor(Reactor& reactor, Task task) {
  std::packaged_task<decltype(task())()> packaged(std::move(task));
  auto done = packaged.get_future();
  auto shared = std::make_shared<decltype(packaged)>(std::move(packaged));
  reactor.Post([shared] { (*shared)(); });
  return done.get();
}

// Collects what a socket receives; waits for the n-th message.
class Inbox {
 public:
  SocketEvents Events() {
    return {.on_message =
                [this](Incoming&& message) {
                  const std::lock_guard lock(mutex_);
                  messages_.push_back(std::move(message));
                  changed_.notify_all();
                },
            .on_invalid =
                [this](const std::string& peer, const Status& error) {
                  const std::lock_guard lock(mutex_);
                  invalid_.emplace_back(peer, error);
                  changed_.notify_all();
                }};
  }
  Incoming& Message(std::size_t index) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, seconds(20), [&] { return messages_.size() > index; })) {
      ADD_FAILURE() << "message " << index << " did not come";
      std::abort();
    }
    return messages_[index];
  }
  Status Invalid(std::size_t index) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, seconds(20), [&] { return invalid_.size() > index; })) {
      return Internal("invalid message did not come");
    }
    return invalid_[index].second;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Incoming> messages_;
  std::deque<std::pair<std::string, Status>> invalid_;
};

std::string TemporaryPath(const std::string& name) {
  return ::testing::TempDir() + "/hr_net_" + std::to_string(getpid()) + "_" + name;
}

// Holds both ends of one connection, on two reactors.
struct Pair {
  explicit Pair(const std::string& endpoint, std::shared_ptr<Context> context = nullptr)
      : server(MakeReactor(context)), client(MakeReactor(context)) {
    router = std::move(server->BindRouter(endpoint, server_inbox.Events())).value();
    dealer = std::move(client->ConnectDealer(router->endpoint(), client_inbox.Events())).value();
    EXPECT_TRUE(server->Start().ok());
    EXPECT_TRUE(client->Start().ok());
  }
  ~Pair() {
    client->Stop();
    server->Stop();
  }
  Status ToServer(wire::Body body, std::vector<PayloadFrame> payload = {}) {
    return OnReactor(*client, [&] { return dealer->Send("", body, std::move(payload)); });
  }
  Status ToClient(const std::string& peer, wire::Body body,
                  std::vector<PayloadFrame> payload = {}) {
    return OnReactor(*server, [&] { return router->Send(peer, body, std::move(payload)); });
  }

  Inbox server_inbox;
  Inbox client_inbox;
  std::unique_ptr<Reactor> server;
  std::unique_ptr<Reactor> client;
  std::unique_ptr<Socket> router;
  std::unique_ptr<Socket> dealer;
};

std::uint64_t Sequence(const Incoming& message) {
  return std::get<wire::Ping>(message.body).sequence;
}

class EveryTransport : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string Endpoint() {
    const std::string transport = GetParam();
    return transport == "ipc" ? "ipc://" + TemporaryPath("pair")
                              : (transport == "tcp" ? "tcp://127.0.0.1:0" : "inproc://pair");
  }
};

TEST_P(EveryTransport, MessagesComeInOrderBothWays) {
  Pair pair(Endpoint(), MakeContext());
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(pair.ToServer(wire::Ping{.sequence = i}).ok());
  }
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(Sequence(pair.server_inbox.Message(i)), i);
  }
  const std::string peer = pair.server_inbox.Message(0).peer;
  EXPECT_EQ(pair.server_inbox.Message(0).from_this_user, std::string(GetParam()) == "ipc");
  ASSERT_TRUE(pair.ToClient(peer, wire::Pong{.sequence = 7}).ok());
  EXPECT_EQ(std::get<wire::Pong>(pair.client_inbox.Message(0).body).sequence, 7u);
  EXPECT_TRUE(pair.client_inbox.Message(0).peer.empty());
}

TEST_P(EveryTransport, PayloadArrivesWholeAndItsOwnerIsReleased) {
  Pair pair(Endpoint(), MakeContext());
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(9'600'000);
  std::iota(bytes->begin(), bytes->end(), std::uint8_t{0});
  const std::vector<std::uint8_t> expected = *bytes;
  std::promise<void> released;
  const std::shared_ptr<const void> owner(bytes.get(), [&, bytes](const void*) mutable {
    bytes.reset();
    released.set_value();
  });
  const ByteSpan all = std::as_bytes(std::span(*bytes));
  std::vector<PayloadFrame> payload = {{.data = all.subspan(0, 5'000'000), .owner = owner},
                                       {.data = all.subspan(5'000'000, 10), .owner = owner},
                                       {.data = {}, .owner = nullptr},
                                       {.data = all.subspan(5'000'010), .owner = owner}};
  ASSERT_TRUE(pair.ToServer(wire::BlobPart{.session = SessionId(1)}, std::move(payload)).ok());
  const_cast<std::shared_ptr<const void>&>(owner).reset();
  const Incoming& message = pair.server_inbox.Message(0);
  std::vector<std::byte> got;
  for (const ByteSpan part : message.payload) got.insert(got.end(), part.begin(), part.end());
  EXPECT_EQ(message.payload.size(), 4u);
  EXPECT_TRUE(std::ranges::equal(got, std::as_bytes(std::span(expected))));
  // Over inproc the receiver holds the sender's own bytes.
  pair.server_inbox.Message(0).payload_owner.reset();
  EXPECT_EQ(released.get_future().wait_for(seconds(20)), std::future_status::ready);
}

INSTANTIATE_TEST_SUITE_P(Transports, EveryTransport, ::testing::Values("tcp", "ipc", "inproc"),
                         [](const auto& param_info) { return param_info.param; });

TEST(Reactor, UnknownPeerIsNotFound) {
  Pair pair("tcp://127.0.0.1:0");
  const Status status = pair.ToClient("nobody", wire::Ping{});
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("peer is gone"));
}

TEST(Reactor, PortInUseNamesPortAndRemedy) {
  const auto first = MakeReactor();
  const auto socket = first->BindRouter("tcp://127.0.0.1:0", {});
  ASSERT_TRUE(socket.ok());
  const std::string endpoint = (*socket)->endpoint();
  const auto second = MakeReactor();
  const Status status = second->BindRouter(endpoint, {}).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("port " + endpoint.substr(endpoint.rfind(':') + 1)));
  EXPECT_THAT(status.message(), HasSubstr("--listen"));
}

TEST(Reactor, LivePathIsNotStolenAndAStaleOneIsTaken) {
  const std::string path = TemporaryPath("stale");
  const std::string endpoint = "ipc://" + path;
  const auto first = MakeReactor();
  auto socket = first->BindRouter(endpoint, {});
  ASSERT_TRUE(socket.ok());
  const auto second = MakeReactor();
  EXPECT_EQ(second->BindRouter(endpoint, {}).status().code(), Code::kUnavailable);
  // A dead process leaves its path.
  const std::string stale = TemporaryPath("left");
  {
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    stale.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(stale));
  EXPECT_TRUE(second->BindRouter("ipc://" + stale, {}).ok());
}

TEST(Reactor, MalformedAddressIsInvalid) {
  const auto reactor = MakeReactor();
  for (const char* endpoint :
       {"", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "localhost:1"}) {
    const Status bound = reactor->BindRouter(endpoint, {}).status();
    EXPECT_EQ(bound.code(), Code::kInvalidArgument) << endpoint << ": " << bound.ToString();
    const Status connected = reactor->ConnectDealer(endpoint, {}).status();
    EXPECT_EQ(connected.code(), Code::kInvalidArgument) << endpoint << ": " << connected.ToString();
  }
  EXPECT_THAT(reactor->BindRouter("ipc:///" + std::string(200, 'x'), {}).status().message(),
              HasSubstr("too long"));
  EXPECT_EQ(reactor->BindRouter("tcp://192.0.2.1:0", {}).status().code(), Code::kUnavailable);
}

TEST(Reactor, TimersFollowTheClockThatIsGiven) {
  FakeClock clock;
  auto reactor = std::move(Reactor::Make("fake", clock)).value();
  std::vector<int> ran;
  reactor->AddOnce(seconds(100), [&] { ran.push_back(1); });
  const TimerId cancelled = reactor->AddTimer(seconds(100), [&] { ran.push_back(2); });
  reactor->CancelTimer(cancelled);
  reactor->AddOnce(seconds(200), [&] { reactor->Stop(); });
  reactor->Post([&] { clock.Advance(seconds(150)); });
  reactor->Post([&] { reactor->AddOnce(Duration::zero(), [&] { clock.Advance(seconds(150)); }); });
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_THAT(ran, ElementsAre(1));
}

TEST(Reactor, PostsRunInOrderAlsoThoseThatWaitAtStop) {
  const auto reactor = MakeReactor();
  std::vector<int> ran;
  for (int i = 0; i < 100; ++i) reactor->Post([&ran, i] { ran.push_back(i); });
  ASSERT_TRUE(reactor->Start().ok());
  reactor->Stop();
  reactor->Stop();
  ASSERT_EQ(ran.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(ran));
  reactor->Post([&ran] { ran.clear(); });  // dropped
  EXPECT_EQ(reactor->Start().code(), Code::kUnavailable);
  EXPECT_EQ(ran.size(), 100u);
}

TEST(Reactor, WatchedDescriptorCallsBackUntilRemoved) {
  const auto reactor = MakeReactor();
  const UniqueFd event(eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK));
  int calls = 0;
  reactor->WatchFd(event.get(), [&] {
    std::uint64_t value = 0;
    ASSERT_EQ(read(event.get(), &value, sizeof(value)), 8);
    if (++calls == 2) {
      reactor->UnwatchFd(event.get());  // it does not run for a second one
      reactor->Post([&] { reactor->Stop(); });
    }
  });
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(calls, 2);
}

TEST(Reactor, SocketMayGoInItsOwnCallback) {
  Pair pair("tcp://127.0.0.1:0");
  ASSERT_TRUE(pair.ToServer(wire::Ping{.sequence = 1}).ok());
  (void)pair.server_inbox.Message(0);
  auto reactor = MakeReactor();
  std::unique_ptr<Socket> socket;
  std::promise<void> done;
  socket = std::move(reactor->ConnectDealer(pair.router->endpoint(), {.on_message =
                                                                          [&](Incoming&&) {
                                                                            socket.reset();
                                                                            done.set_value();
                                                                          }}))
               .value();
  ASSERT_TRUE(socket->Send("", wire::Ping{.sequence = 2}).ok());
  ASSERT_TRUE(reactor->Start().ok());
  const std::string peer = pair.server_inbox.Message(1).peer;
  ASSERT_TRUE(pair.ToClient(peer, wire::Pong{}).ok());
  done.get_future().get();
}

TEST(Reactor, SendAfterStopIsUnavailable) {
  Pair pair("tcp://127.0.0.1:0");
  pair.client->Stop();
  EXPECT_EQ(pair.dealer->Send("", wire::Ping{}).code(), Code::kUnavailable);
}

TEST(Reactor, DealerHoldsALimitedQueueForAPeerThatIsNotThere) {
  const auto reactor = MakeReactor();
  auto socket = std::move(reactor->ConnectDealer("ipc://" + TemporaryPath("nobody"), {})).value();
  auto chunk = std::make_shared<Bytes>(std::size_t{16} << 20);
  const wire::Body body = wire::BlobPart{};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(socket->Send("", body, {{.data = *chunk, .owner = chunk}}).ok(), i < 3) << i;
  }
  EXPECT_EQ(chunk.use_count(), 4);
  int taken = 0;
  while (socket->Send("", wire::Ping{}).ok()) ++taken;
  EXPECT_EQ(taken + 3, 1000);
}

TEST(Reactor, FrameOverTheLimitIsRefusedBeforeItIsSent) {
  Pair pair("tcp://127.0.0.1:0");
  auto large = std::make_shared<Bytes>(kMaxFrameBytes + 1);
  EXPECT_EQ(pair.ToServer(wire::BlobPart{}, {{.data = *large, .owner = large}}).code(),
            Code::kInvalidArgument);
}

TEST(Reactor, DealerComesBackToARestartedPeer) {
  const std::string endpoint = "ipc://" + TemporaryPath("restart");
  const auto client = MakeReactor();
  Inbox client_inbox;
  auto dealer = std::move(client->ConnectDealer(endpoint, client_inbox.Events())).value();
  ASSERT_TRUE(client->Start().ok());
  for (int life = 0; life < 2; ++life) {
    const auto server = MakeReactor();
    Inbox server_inbox;
    const auto router = std::move(server->BindRouter(endpoint, server_inbox.Events())).value();
    ASSERT_TRUE(server->Start().ok());
    // A message sent after a death may still go into the old connection: ask until it is heard.
    const TimerId asking = OnReactor(*client, [&] {
      return client->AddTimer(milliseconds(20),
                              [&dealer] { (void)dealer->Send("", wire::Ping{}); });
    });
    (void)server_inbox.Message(0);
    OnReactor(*client, [&] { client->CancelTimer(asking); });
    server->Stop();
  }
  client->Stop();
}

TEST(Reactor, ForkedChildNeitherHangsNorDisturbs) {
  Pair pair("tcp://127.0.0.1:0");
  ASSERT_TRUE(pair.ToServer(wire::Ping{.sequence = 1}).ok());
  (void)pair.server_inbox.Message(0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool refused = pair.dealer->Send("", wire::Ping{}).code() == Code::kUnavailable;
    pair.client->Post([] {});
    pair.dealer.reset();
    pair.router.reset();
    pair.client.reset();
    pair.server.reset();
    _exit(refused ? 0 : 1);
  }
  int exit_status = 1;
  waitpid(child, &exit_status, 0);
  EXPECT_EQ(exit_status, 0);
  ASSERT_TRUE(pair.ToServer(wire::Ping{.sequence = 2}).ok());
  EXPECT_EQ(Sequence(pair.server_inbox.Message(1)), 2u);
}

}  // namespace
}  // namespace headrace::net
