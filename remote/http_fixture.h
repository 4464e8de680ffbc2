#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "gtest/gtest.h"
#include "remote/object_client.h"

// For tests: a server of HTTP that answers as the test says, on 127.0.0.1.
namespace headrace::remote {

class FakeHttp {
 public:
  struct Query {
    std::string method, target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body = {};
    // Of "bytes=first-last"; {0, end} without a Range header.
    [[nodiscard]] std::pair<std::size_t, std::size_t> Range(std::size_t end) const {
      const auto at = headers.find("range");
      if (at == headers.end()) return {0, end};
      std::size_t first = 0, last = 0;
      EXPECT_EQ(std::sscanf(at->second.c_str(), "bytes=%zu-%zu", &first, &last), 2);
      return {first, std::min(last + 1, end)};
    }
    [[nodiscard]] std::string Header(const std::string& name) const {
      const auto at = headers.find(name);
      return at == headers.end() ? "" : at->second;
    }
  };
  struct Reply {
    int status = 200;
    std::vector<std::string> headers = {};
    std::string body = {};
    bool tells_length = true;
    std::size_t cut_at = std::string::npos;  // sends so much of the body, and hangs up
    bool silent = false;                     // sends nothing until the server goes
  };
  using Handler = std::function<Reply(const Query&)>;

  explicit FakeHttp(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    threads_.emplace_back([this] { Accept(); });
  }
  FakeHttp(const FakeHttp&) = delete;
  FakeHttp& operator=(const FakeHttp&) = delete;
  ~FakeHttp() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      ::shutdown(listener_, SHUT_RDWR);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
      changed_.notify_all();
    }
    threads_.front().join();  // nobody adds to them now
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    ::close(listener_);
  }

  [[nodiscard]] std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "http://" + authority(); }
  [[nodiscard]] std::vector<Query> queries() const {
    const std::lock_guard lock(mutex_);
    return queries_;
  }
  [[nodiscard]] std::size_t connections() const { return connections_; }
  // Waits until so many queries have come.
  void AwaitQueries(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queries_.size() >= count; });
  }

 private:
  void Accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      if (stopped_) {
        ::close(fd);
        return;
      }
      ++connections_;
      open_.push_back(fd);
      threads_.emplace_back([this, fd] {
        Serve(fd);
        const std::lock_guard closing(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }
  void Serve(int fd) {
    std::string text;
    while (true) {
      std::size_t end = 0;
      while ((end = text.find("\r\n\r\n")) == std::string::npos) {
        char buffer[4096];
        const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0) return;
        text.append(buffer, static_cast<std::size_t>(got));
      }
      Query query = Read(text.substr(0, end));
      text.erase(0, end + 4);
      const std::string length = query.Header("content-length");
      const std::size_t wanted = length.empty() ? 0 : std::stoul(length);
      while (text.size() < wanted) {
        char buffer[4096];
        const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0) return;
        text.append(buffer, static_cast<std::size_t>(got));
      }
      query.body = text.substr(0, wanted);
      text.erase(0, wanted);
      {
        const std::lock_guard lock(mutex_);
        queries_.push_back(query);
        changed_.notify_all();
      }
      if (!Send(fd, query, handler_(query))) return;
    }
  }
  static Query Read(const std::string& text) {
    Query query;
    const std::size_t space = text.find(' ');
    query.method = text.substr(0, space);
    query.target = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
    std::size_t at = text.find("\r\n");
    while (at != std::string::npos) {
      const std::size_t end = text.find("\r\n", at + 2);
      const std::string line = text.substr(at + 2, end == std::string::npos ? end : end - at - 2);
      std::string name = line.substr(0, line.find(':'));
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      query.headers[name] = line.substr(std::min(line.find(':') + 2, line.size()));
      at = end;
    }
    return query;
  }
  // False: the connection is over.
  bool Send(int fd, const Query& query, const Reply& reply) {
    if (reply.silent) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_; });
      return false;
    }
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " X\r\n";
    for (const std::string& header : reply.headers) text += header + "\r\n";
    if (reply.tells_length) text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
    text += "\r\n";
    if (query.method != "HEAD") text += reply.body.substr(0, reply.cut_at);
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t now = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<std::size_t>(now);
    }
    return reply.tells_length && reply.cut_at == std::string::npos;
  }

  const Handler handler_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> connections_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::vector<Query> queries_;
  std::vector<std::thread> threads_;
  std::vector<int> open_;
  bool stopped_ = false;
};

// The answer of a store to a query for an object.
inline FakeHttp::Reply ReplyWith(const FakeHttp::Query& query, const std::string& object,
                                 const std::string& etag) {
  FakeHttp::Reply reply{.headers = {"ETag: " + etag}};
  if (const std::string match = query.Header("if-match"); !match.empty() && match != etag) {
    return {.status = 412};
  }
  const auto [first, end] = query.Range(object.size());
  if (!query.Header("range").empty()) {
    if (first >= object.size()) {
      return {.status = 416,
              .headers = {"Content-Range: bytes */" + std::to_string(object.size())}};
    }
    reply.status = 206;
    reply.headers.push_back("Content-Range: bytes " + std::to_string(first) + "-" +
                            std::to_string(end - 1) + "/" + std::to_string(object.size()));
  }
  reply.body = object.substr(first, end - first);
  return reply;
}

// Credentials without an environment.
inline CredentialPlaces NoCredentials() {
  return {[](const char*) { return std::nullopt; },
          [](const std::string&) { return std::nullopt; }};
}
inline CredentialPlaces TestCredentials() {
  return {[](const char* name) -> std::optional<std::string> {
            if (std::string_view(name) == "AWS_ACCESS_KEY_ID") return "AKIATEST";
            if (std::string_view(name) == "AWS_SECRET_ACCESS_KEY") return "secret-of-test";
            if (std::string_view(name) == "AWS_SESSION_TOKEN") return "token-of-test";
            return std::nullopt;
          },
          [](const std::string&) { return std::nullopt; }};
}

// Options that reach the server, and try again at once.
inline ClientOptions OptionsFor(const FakeHttp& server) {
  ClientOptions options;
  options.rules = *EndpointRules::Make({server.authority()});
  options.credentials = NoCredentials();
  options.retry.first_pause = std::chrono::milliseconds(1);
  return options;
}

// Asks, and waits for the answer.
inline ObjectAnswer Ask(ObjectClient& client, ObjectRequest request) {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<ObjectAnswer> answer;
  client.Begin(std::move(request), [&](ObjectAnswer made) {
    const std::lock_guard lock(mutex);
    EXPECT_FALSE(answer) << "answered twice";
    answer = std::move(made);
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answer.has_value(); });
  return std::move(*answer);
}

inline ObjectRequest RequestFor(const FakeHttp& server, const StoreSpec& given,
                                const std::string& name,
                                ObjectRequest::What what = ObjectRequest::What::kWhole,
                                std::uint64_t bytes = std::uint64_t{1} << 30) {
  StoreSpec spec = given;
  if (spec.base.empty()) spec.base = server.url() + "/data";
  const Result<Store> store = Store::Make(spec);
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  ObjectRequest request{
      .store = std::make_shared<const Store>(*store), .what = what, .bytes = bytes};
  request.url = *store->UrlOf(store->base() + name);
  return request;
}

}  // namespace headrace::remote
