#include "web/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/intake.h"
#include "net/intake_gate.h"
#include "web/connection_counts.h"
#include "web/test_client.h"

namespace headrace::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    net::OpenIntakeGate();  // as coordinators and workers have
    std::string folder = testing::TempDir() + "http_XXXXXX";
    folder_ = ::mkdtemp(folder.data());
  }
  ~HttpServerTest() override {
    net::Intake::Process().Close();
    std::filesystem::remove_all(folder_);
  }

  std::string TokenFile(const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ / "token";
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  void Serve(HttpOptions options) {
    const auto text = [](int status, std::string body) {
      return [=](const HttpRequest&) { return HttpAnswer{status, body}; };
    };
    HttpRoutes routes;
    routes["/one"] = {text(200, "first\n")};
    routes["/large"] = {[this](const HttpRequest&) { return HttpAnswer{200, large_}; }};
    routes["/ill"] = {text(503, "no\n")};
    routes["/open"] = {text(200, "for all\n"), {}, true};
    routes["/do/"] = {{}, [](const HttpRequest& request) {
                        return HttpAnswer{200, std::string(request.rest) + " for " +
                                                   std::string(request.admin) + " of " +
                                                   std::string(request.origin)};
                      }};
    auto started = HttpServer::Start(std::move(options), std::move(routes));
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
    url_ = "http://" + server_->address();
  }
  UniqueFd Connect() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& address = server_->address();
    at.sin_port = htons(std::stoi(address.substr(address.rfind(':') + 1)));
    timeval patience{20, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    return fd;
  }

  std::filesystem::path folder_;
  std::string large_ = std::string(std::size_t{5} << 20, 'x');
  std::string url_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersWhatItHasAndNothingElse) {
  Serve({"127.0.0.1:0", ""});
  EXPECT_THAT(server_->address(), StartsWith("127.0.0.1:"));
  const Got one = Get(url_ + "/one");
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(one.body, "first\n");
  EXPECT_THAT(one.head, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_EQ(Get(url_ + "/large").body, large_);
  EXPECT_EQ(Get(url_ + "/ill").status, 503);
  EXPECT_EQ(Get(url_ + "/").status, 404);
  EXPECT_EQ(Get(url_ + "/one/../ill").status, 503) << "libcurl takes such parts away itself";
  const Got head = Get(url_ + "/one", "", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(Get(url_ + "/one", "", "DELETE").status, 405);
}

TEST_F(HttpServerTest, ABodyIsRefused) {
  Serve({"127.0.0.1:0", ""});
  EXPECT_EQ(Get(url_ + "/one", "", "POST", "a=b").status, 0) << "the connection was closed";
  EXPECT_EQ(Get(url_ + "/one").status, 200);
}

TEST_F(HttpServerTest, WithATokenNothingIsToldWithoutIt) {
  Serve({"127.0.0.1:0", TokenFile("secret word\n")});
  for (const char* given : {"", "Bearer", "Bearer secret", "Bearer secret word ", "Basic c2Vj",
                            "bearer secret word", "secret word"}) {
    const Got got = Get(url_ + "/one", given);
    EXPECT_EQ(got.status, 401) << given;
    EXPECT_EQ(got.body, "a token is wanted\n");
    EXPECT_EQ(Get(url_ + "/none", given).status, 401) << "which pages there are is not told";
  }
  EXPECT_EQ(Get(url_ + "/one", "Bearer secret word").status, 200);
  EXPECT_EQ(Get(url_ + "/open").body, "for all\n") << "what tells nothing is for everybody";
}

TEST_F(HttpServerTest, AnActionIsAPostWithoutABody) {
  Serve({"127.0.0.1:0", ""});
  const Got done =
      Get(url_ + "/do/17/x", "", "POST", "", {"X-Headrace-Admin: word", "Origin: " + url_});
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.body, "17/x for word of " + url_);
  const Got read = Get(url_ + "/do/17/x");
  EXPECT_EQ(read.status, 405);
  EXPECT_THAT(read.head, HasSubstr("Allow: POST\r\n"));
  EXPECT_EQ(Get(url_ + "/one", "", "POST", "").status, 405);
  EXPECT_EQ(Get(url_ + "/do/1", "", "PUT", "").status, 405);
  EXPECT_EQ(Get(url_ + "/do/17", "", "POST", "a=b").status, 0) << "the connection was closed";
  EXPECT_EQ(Get(url_ + "/do/", "", "POST", "").status, 404);
}

TEST(FindRouteTest, TheLongestBeginningCounts) {
  HttpRoutes routes;
  for (const char* path : {"/", "/one", "/a/", "/a/b/"}) routes[path] = {};
  const auto found = [&](std::string_view path) -> std::string {
    std::string_view rest;
    const HttpRoute* const route = FindRoute(routes, path, rest);
    for (const auto& [name, each] : routes) {
      if (&each == route) return name + "|" + std::string(rest);
    }
    return "none";
  };
  EXPECT_EQ(found("/"), "/|");
  EXPECT_EQ(found("/one"), "/one|");
  EXPECT_EQ(found("/one/"), "none");
  EXPECT_EQ(found("/two"), "none") << "\"/\" is of itself alone";
  EXPECT_EQ(found(""), "none");
  EXPECT_EQ(found("/a/"), "none");
  EXPECT_EQ(found("/a/x"), "/a/|x");
  EXPECT_EQ(found("/a/x/y"), "/a/|x/y");
  EXPECT_EQ(found("/a/b/c"), "/a/b/|c");
}

TEST_F(HttpServerTest, ANewTokenCountsAtOnceAndALostOneLetsNobodyIn) {
  const std::string path = TokenFile("old");
  Serve({"127.0.0.1:0", path});
  TokenFile("new");
  EXPECT_EQ(Get(url_ + "/one", "Bearer old").status, 401);
  EXPECT_EQ(Get(url_ + "/one", "Bearer new").status, 200);
  std::filesystem::remove(path);
  EXPECT_EQ(Get(url_ + "/one", "Bearer new").status, 401);
  TokenFile("");
  EXPECT_EQ(Get(url_ + "/one", "Bearer ").status, 401);
}

TEST_F(HttpServerTest, OtherHostsNeedAToken) {
  const auto start = [](HttpOptions options) {
    return HttpServer::Start(std::move(options), {}).status();
  };
  EXPECT_EQ(start({"0.0.0.0:0", ""}).code(), Code::kInvalidArgument);
  EXPECT_EQ(start({"[::]:0", ""}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(start({"0.0.0.0:0", TokenFile("word")}).ok());
  EXPECT_EQ(start({"127.0.0.1:0", folder_ / "missing"}).code(), Code::kNotFound);
  EXPECT_EQ(start({"127.0.0.1:0", TokenFile("")}).code(), Code::kInvalidArgument);
  EXPECT_EQ(start({"127.0.0.1:0", TokenFile("word", 0644)}).code(), Code::kInvalidArgument);
  for (const char* none : {"", "9000", ":9000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x"}) {
    EXPECT_EQ(start({none, ""}).code(), Code::kInvalidArgument) << none;
  }
  Serve({"127.0.0.1:0", ""});
  EXPECT_EQ(start({server_->address(), ""}).code(), Code::kUnavailable);
}

// A request without an end is given up at 16 KiB, and more connections of one address than it has room for are
// closed. Others are still answered.
TEST_F(HttpServerTest, EndlessRequestsAndManyConnectionsCostABoundedAmount) {
  Serve({"127.0.0.1:0", ""});
  const UniqueFd endless = Connect();
  std::string sent = "GET /one HTTP/1.1\r\n";
  for (int i = 0; i < 64; ++i) sent += "X-More: " + std::string(1000, 'y') + "\r\n";
  ::send(endless.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
  std::array<char, 4096> answer{};
  const ssize_t got = ::recv(endless.get(), answer.data(), answer.size(), 0);
  ASSERT_GT(got, 0);
  EXPECT_THAT(std::string(answer.data(), static_cast<std::size_t>(got)),
              StartsWith("HTTP/1.1 431"));

  std::vector<UniqueFd> many;
  for (int i = 0; i < 300; ++i) many.push_back(Connect());
  int open = 0;
  for (const UniqueFd& one : many) {
    ::send(one.get(), "G", 1, MSG_NOSIGNAL);
    timeval patience{0, 20'000};
    ::setsockopt(one.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    open += ::recv(one.get(), answer.data(), answer.size(), 0) < 0 && errno == EAGAIN ? 1 : 0;
  }
  EXPECT_LE(open, 128);
  EXPECT_GT(open, 60);  // a browser with some pages, or a proxy, has as many
  many.clear();
  // The server sees that they have gone a moment later.
  long status = 0;
  for (int i = 0; i < 100 && status != 200; ++i) status = Get(url_ + "/one").status;
  EXPECT_EQ(status, 200);
}

// Browsers keep what they opened for their next request. They must not keep others out.
TEST_F(HttpServerTest, IdleConnectionsLeaveRoomForNewOnes) {
  Serve({"127.0.0.1:0", ""});
  std::vector<UniqueFd> kept;
  for (int i = 0; i < 300; ++i) {
    kept.push_back(Connect());
    constexpr std::string_view kAsked = "GET /one HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ::send(kept.back().get(), kAsked.data(), kAsked.size(), MSG_NOSIGNAL);
    std::array<char, 4096> answer{};
    const ssize_t got = ::recv(kept.back().get(), answer.data(), answer.size(), 0);
    ASSERT_GT(got, 0) << "connection " << i;
    ASSERT_THAT(std::string(answer.data(), static_cast<std::size_t>(got)),
                StartsWith("HTTP/1.1 200"));
  }
}

TEST(ConnectionCountsTest, MoreThanHalfOfAllOrOfAnAddressAreACrowd) {
  ConnectionCounts counts(10, 6);
  for (int i = 0; i < 3; ++i) counts.Began("a");
  EXPECT_FALSE(counts.Crowded("a"));
  counts.Began("a");
  EXPECT_TRUE(counts.Crowded("a"));
  EXPECT_FALSE(counts.Crowded("b"));
  counts.Began("b");
  EXPECT_FALSE(counts.Crowded("b"));
  counts.Began("c");
  EXPECT_TRUE(counts.Crowded("b")) << "six of ten in all";
  counts.Ended("a");
  EXPECT_FALSE(counts.Crowded("a"));
  EXPECT_FALSE(counts.Crowded("b"));
}

}  // namespace
}  // namespace headrace::web
