#include <gmock/gmock.h>

#include <future>

#include "dataworker/worker/worker.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(DataService, RefusedMessagesAreLoggedAtMostOnceASecond) {
  auto reactor = std::move(net::Reactor::Make("worker")).value();
  WorkerOptions options;
  options.threads = 1;
  options.listen = "tcp://127.0.0.1:*";
  auto worker = Worker::Start(*reactor, options, [](Status) {});
  ASSERT_TRUE(worker.ok()) << worker.status().ToString();
  testing::internal::CaptureStderr();
  ASSERT_TRUE(reactor->Start().ok());

  auto peer = std::move(net::Reactor::Make("peer")).value();
  std::promise<void> answered;
  net::SocketEvents events;
  events.server = wire::Role::kWorker;
  events.on_message = [&](net::Incoming&&) { answered.set_value(); };
  auto socket = peer->ConnectDealer((*worker)->info().endpoints.front(), std::move(events));
  ASSERT_TRUE(socket.ok());
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE((*socket)->Send({}, wire::Detach{.session = SessionId(-2)}).ok());
  }
  // Messages of a peer come in order: after the answer all others were heard.
  EXPECT_TRUE((*socket)->Send({}, wire::Ping{1}).ok());
  ASSERT_TRUE(peer->Start().ok());
  EXPECT_EQ(answered.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  peer->Stop();
  socket->reset();

  reactor->Stop();
  worker->reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr("message refused: "));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = log.find("message refused", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_LT(lines, 20U) << log;  // more than one only where this took more than a second
}

}  // namespace
}  // namespace headrace::dataworker
