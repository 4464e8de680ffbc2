#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

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

TEST(ConnectionMonitor, TheEndOfAConnectionIsToldAfterTheMessagesThatCameOnIt) {
  constexpr int kMessages = 300;
  const auto server = *Reactor::Make("server");
  std::promise<std::string> came;
  SocketEvents of_server;
  of_server.on_message = [&](Incoming&& message) { came.set_value(message.peer); };
  const auto router = *server->BindRouter("tcp://127.0.0.1:*", std::move(of_server));
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
    for (std::uint64_t i = 0; i < kMessages; ++i) (void)router->Send(peer, wire::Ping{i});
  });
  server->Stop();
  const std::future_status told = ended.get_future().wait_for(seconds(20));
  client->Stop();
  ASSERT_EQ(told, std::future_status::ready);
  EXPECT_EQ(heard_before_an_end, std::vector<int>{kMessages}) << "once";
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
