#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/reactor.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs `task` on the reactor's thread and waits for it.
template <typename Task>
void RunAndWait(Reactor& reactor, Task task) {
  std::promise<void> done;
  reactor.Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

class ConnectionMonitors : public ::testing::TestWithParam<const char*> {};

TEST_P(ConnectionMonitors, TheEndOfAConnectionIsToldAfterTheMessagesThatCameOnIt) {
  // What waits in the kernel's buffer of a Unix socket while ZeroMQ's queue of 100 is full is lost at the
  // end; over TCP it is not.
  const int messages = std::string(GetParam()) == "tcp" ? 300 : 50;
  const auto server = *Reactor::Make("server");
  std::promise<std::string> came;
  SocketEvents of_server;
  of_server.on_message = [&](Incoming&& message) { came.set_value(message.peer); };
  const std::string endpoint =
      std::string(GetParam()) == "tcp"
          ? "tcp://127.0.0.1:*"
          : "ipc://" + ::testing::TempDir() + "/hr_ended_" + std::to_string(::getpid());
  const auto router = *server->BindRouter(endpoint, std::move(of_server));
  ASSERT_TRUE(server->Start().ok());
  const auto client = *Reactor::Make("client");
  int heard = 0;
  std::vector<int> heard_before_an_end;
  std::promise<void> ended;
  SocketEvents events;
  events.on_message = [&](Incoming&&) { ++heard; };
  events.on_disconnected = [&] {
    heard_before_an_end.push_back(heard);
    if (heard_before_an_end.size() == 1) ended.set_value();
  };
  const auto dealer = *client->ConnectDealer(router->endpoint(), std::move(events));
  ASSERT_TRUE(client->Start().ok());
  RunAndWait(*client, [&] { (void)dealer->Send("", wire::Ping{}); });
  const std::string peer = came.get_future().get();
  RunAndWait(*server, [&] {
    for (int i = 0; i < messages; ++i) (void)router->Send(peer, wire::Ping{});
  });
  server->Stop();
  const std::future_status told = ended.get_future().wait_for(seconds(20));
  client->Stop();
  ASSERT_EQ(told, std::future_status::ready);
  EXPECT_EQ(heard_before_an_end, std::vector<int>{messages}) << "once";
}

INSTANTIATE_TEST_SUITE_P(Transports, ConnectionMonitors, ::testing::Values("tcp", "ipc"),
                         [](const auto& transport) { return std::string(transport.param); });

// What a server says when it accepts and closes, while the socket lingers with a message for it.
TEST(ConnectionMonitor, ASocketThatIsClosedBeforeItsConnectionEndsStopsNobody) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), generic, size), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &size), 0);
  const auto context = MakeContext();
  const auto client = *Reactor::Make("client", Clock::Real(), context);
  ASSERT_TRUE(client->Start().ok());
  for (int i = 0; i < 5; ++i) {
    std::unique_ptr<Socket> dealer;
    RunAndWait(*client, [&] {
      SocketEvents events;
      events.on_disconnected = [] {};
      dealer = *client->ConnectDealer("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                                      std::move(events));
      (void)dealer->Send("", wire::Ping{});
    });
    UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
    RunAndWait(*client, [&] { dealer.reset(); });
    std::this_thread::sleep_for(milliseconds(20));
    accepted.reset();  // within the linger of the closed socket
    std::this_thread::sleep_for(milliseconds(20));
  }
  // The context's only I/O thread still works.
  const auto server = *Reactor::Make("server");
  std::promise<void> came;
  SocketEvents of_server;
  of_server.on_message = [&, told = false](Incoming&&) mutable {
    if (!std::exchange(told, true)) came.set_value();
  };
  const auto router = *server->BindRouter("tcp://127.0.0.1:*", std::move(of_server));
  ASSERT_TRUE(server->Start().ok());
  std::unique_ptr<Socket> dealer;
  RunAndWait(*client, [&] {
    dealer = *client->ConnectDealer(router->endpoint(), {});
    (void)dealer->Send("", wire::Ping{});
  });
  const std::future_status heard = came.get_future().wait_for(seconds(20));
  RunAndWait(*client, [&] { dealer.reset(); });
  client->Stop();
  server->Stop();
  EXPECT_EQ(heard, std::future_status::ready);
}

TEST(ConnectionMonitor, APeerThatNeverCameIsNoEnd) {
  const auto client = *Reactor::Make("client");
  bool told = false;
  SocketEvents events;
  events.on_disconnected = [&] { told = true; };
  const auto dealer = *client->ConnectDealer("tcp://127.0.0.1:9", std::move(events));
  ASSERT_TRUE(client->Start().ok());
  std::this_thread::sleep_for(milliseconds(300));
  client->Stop();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace headrace::net
