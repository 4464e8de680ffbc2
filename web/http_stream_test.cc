#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>

#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/intake.h"
#include "net/intake_gate.h"
#include "web/event_feed.h"
#include "web/http_server.h"

// Streams over real sockets.
namespace headrace::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpStreamTest : public testing::Test {
 protected:
  HttpStreamTest() {
    net::OpenIntakeGate();
    HttpRoutes routes;
    routes["/events"] = {[this](const HttpRequest&) {
      HttpAnswer answer{200, "", "text/event-stream"};
      answer.stream = feed_.Listen();
      return answer.stream ? std::move(answer) : HttpAnswer{503, "full\n"};
    }};
    auto started = HttpServer::Start({"127.0.0.1:0", "", 1}, std::move(routes));
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
  }
  ~HttpStreamTest() override {
    feed_.Close();
    server_.reset();
    net::Intake::Process().Close();
  }

  // `kept`: bytes that the kernel keeps for a peer that does not read; 0: its own choice.
  UniqueFd Ask(int kept = 0) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (kept > 0) ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kept, sizeof(kept));
    timeval patience{30, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& address = server_->address();
    at.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    const std::string request = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return fd;
  }
  // What comes until `text` has come; with an empty one, until the end.
  static std::string ReadUntil(int fd, const std::string& text) {
    std::string all;
    std::array<char, 65536> buffer{};
    while (text.empty() || all.find(text) == std::string::npos) {
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        EXPECT_TRUE(text.empty()) << "the connection ended before: " << text;
        break;
      }
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

  std::atomic<std::uint64_t> number_ = 0;
  std::atomic<std::size_t> size_ = 10;  // bytes of a frame
  EventFeed feed_{[this] {
                    ++number_;
                    return FeedFrame{number_, "+" + std::string(size_, 'x')};
                  },
                  [this] { return "=" + std::string(size_, 'y'); }, 4};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpStreamTest, EventsComeAsTheyArePublished) {
  const UniqueFd peer = Ask();
  feed_.Publish();
  const std::string head = ReadUntil(peer.get(), "yyyyyyyyyy\n\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(head, HasSubstr("id: 1\nevent: frame\ndata: ="));
  for (int frame = 2; frame <= 20; ++frame) {
    feed_.Publish();
    EXPECT_THAT(ReadUntil(peer.get(), "xxxxxxxxxx\n\n"),
                HasSubstr("id: " + std::to_string(frame) + "\nevent: frame\ndata: +"));
  }
}

// It is given nothing for as long as nothing happens: it is not cut off for that.
TEST_F(HttpStreamTest, WhoWaitsIsNotCutOff) {
  const UniqueFd peer = Ask();
  feed_.Publish();
  ReadUntil(peer.get(), "\n\n");
  std::array<char, 16> buffer{};
  timeval patience{2, 500'000};  // more than the server's patience with a peer that takes nothing
  ::setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  EXPECT_EQ(::recv(peer.get(), buffer.data(), buffer.size(), 0), -1) << "nothing, and no end";
  feed_.Publish();
  ReadUntil(peer.get(), "xxxxxxxxxx\n\n");
}

TEST_F(HttpStreamTest, WhoReadsNothingIsCutOffAndOthersSeeEachFrame) {
  size_ = std::size_t{4} << 20;
  const UniqueFd stuck = Ask(4096);
  feed_.Publish();
  const UniqueFd quick = Ask();
  for (int frame = 0; frame < 500 && feed_.listeners() != 1; ++frame) {
    feed_.Publish();
    ReadUntil(quick.get(), frame == 0 ? "y\n\n" : "x\n\n");
  }
  EXPECT_EQ(feed_.listeners(), 1u) << "the one that reads";
  const std::string rest = ReadUntil(stuck.get(), "");
  EXPECT_LT(rest.size(), std::size_t{16} << 20) << "it was sent no more than the kernel held";
}

TEST_F(HttpStreamTest, OneTooManyIsToldSo) {
  std::vector<UniqueFd> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(Ask());
  feed_.Publish();
  for (const UniqueFd& each : peers) ReadUntil(each.get(), "\n\n");
  const UniqueFd more = Ask();
  EXPECT_THAT(ReadUntil(more.get(), "full\n"), StartsWith("HTTP/1.1 503"));
  peers.pop_back();
  // The server sees that it has gone with the next frame.
  for (int i = 0; i < 1000 && feed_.listeners() == 4; ++i) {
    feed_.Publish();
    for (const UniqueFd& each : peers) ReadUntil(each.get(), "\n\n");
  }
  EXPECT_EQ(feed_.listeners(), 3u);
}

TEST_F(HttpStreamTest, TheServerEndsWithItsStreams) {
  const UniqueFd waiting = Ask();
  feed_.Publish();
  ReadUntil(waiting.get(), "\n\n");
  feed_.Close();
  server_.reset();
  ReadUntil(waiting.get(), "");
}

}  // namespace
}  // namespace headrace::web
