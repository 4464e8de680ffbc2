#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/reactor.h"

namespace headrace::coordinator {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  std::string ca_file = {};  // empty: the system's
  Duration patience = std::chrono::seconds(30);
  // Gets the bytes of a good answer (2xx) as they come. Not set: they are HttpReply::body.
  std::function<void(std::string_view)> on_bytes = nullptr;
};

struct HttpReply {
  // Ok: an answer came, whatever its code. kDeadlineExceeded: not in time. kResourceExhausted: the
  // answer is too large. kUnavailable: no connection, no trust in the server, or it broke.
  Status status;
  int code = 0;               // of HTTP; 0: none came
  bool may_be_heard = false;  // the server may have got the request
  std::string body;
  std::optional<Duration> retry_after;  // as the server says
};

// Requests by HTTP and HTTPS beside the reactor, with connections that are kept. It follows no
// redirect and uses no proxy: a token goes to the host of its URL alone. libcurl's sockets are in an
// epoll set of its own, because a reactor watches for reading only. One thread, the reactor's; libcurl
// looks up names on another. What is open when this is destroyed ends, and nobody is told.
class HttpCalls {
 public:
  using Done = std::function<void(const HttpReply&)>;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of an answer that is kept

  explicit HttpCalls(net::Reactor& reactor);
  HttpCalls(const HttpCalls&) = delete;
  HttpCalls& operator=(const HttpCalls&) = delete;
  // Never in a callback.
  ~HttpCalls();

  // Calls `done` later, never inside this call. Callbacks may start and cancel calls. The number of the
  // call, which is above 0.
  std::int64_t Start(HttpRequest request, Done done);
  // Its callbacks are not called any more. Nothing, if it has ended.
  void Cancel(std::int64_t call);

  // Makes the requests and waits for all, for `patience` at most: for the end of a process alone.
  static std::vector<HttpReply> Run(const std::vector<HttpRequest>& requests, Duration patience);

 private:
  class Call;
  struct Open {
    std::unique_ptr<Call> call;
    Done done;
    std::optional<CURLcode> ended;
  };

  static int OnSocket(CURL* handle, curl_socket_t socket, int what, void* self, void* known);
  static int OnTimer(CURLM* multi, long millis, void* self);
  void Ready();
  void Settle();

  net::Reactor& reactor_;
  UniqueFd epoll_;
  CURLM* const multi_;
  std::optional<net::TimerId> timer_;
  std::map<std::int64_t, Open> open_;
  std::int64_t last_ = 0;
};

}  // namespace headrace::coordinator
