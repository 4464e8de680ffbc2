#include "web/status_server.h"

#include <atomic>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/test_client.h"

namespace headrace::web {
namespace {

using ::testing::HasSubstr;

class StatusServerTest : public testing::Test {
 protected:
  StatusServerTest() : reactor_(std::move(net::Reactor::Make("test")).value()) {
    StatusSource source;
    source.metrics = [this]() -> std::function<std::string()> {
      return [on_reactor = reactor_->OnThread(), this] {
        return std::string(on_reactor ? "told" : "guessed") +
               (reactor_->OnThread() ? " and made there\n" : " and made here\n");
      };
    };
    source.not_ready = [this] { return std::string(ready_ ? "" : "nobody has answered"); };
    auto started = StatusServer::Start(*reactor_, {"127.0.0.1:0", ""}, std::move(source));
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
    url_ = "http://" + server_->address();
  }

  std::unique_ptr<net::Reactor> reactor_;
  std::atomic<bool> ready_ = true;
  std::string url_;
  std::unique_ptr<StatusServer> server_;
};

TEST_F(StatusServerTest, TellsHowTheProcessIs) {
  ASSERT_TRUE(reactor_->Start().ok());
  const Got metrics = Get(url_ + "/metrics");
  EXPECT_EQ(metrics.body, "told and made here\n") << "a long text keeps the reactor from its work";
  EXPECT_THAT(metrics.head,
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_EQ(Get(url_ + "/healthz").status, 200);
  EXPECT_EQ(Get(url_ + "/readyz").status, 200);
  ready_ = false;
  EXPECT_EQ(Get(url_ + "/healthz").status, 200);
  const Got readiness = Get(url_ + "/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(readiness.body, "nobody has answered\n");
  reactor_->Stop();
}

TEST_F(StatusServerTest, AProcessThatStandsStillIsNotHealthy) {
  EXPECT_EQ(Get(url_ + "/healthz").status, 503);
}

}  // namespace
}  // namespace headrace::web
